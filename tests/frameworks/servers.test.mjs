// Frameworks with a server: a page, and both entries in a route of the server.
import { testFrameworks } from "./driver.mjs";

const NODE = 22; // which these frameworks need

/** Next has two bundlers. */
const next = (name, flags) => ({
  name,
  package: "next",
  app: "next",
  modes: {
    dev: { serve: (port) => ["next", "dev", ...flags, "--port", String(port)] },
    production: {
      build: ["next", "build", ...flags],
      serve: (port) => ["next", "start", "--port", String(port)],
    },
  },
});

testFrameworks(
  [
    next("Next", []),
    next("Next with webpack", ["--webpack"]),
    {
      name: "Nuxt",
      package: "nuxt",
      app: "nuxt",
      node: NODE,
      modes: {
        dev: { serve: (port) => ["nuxt", "dev", "--port", String(port)] },
        production: { build: ["nuxt", "build"], serve: () => ["node", ".output/server/index.mjs"] },
      },
    },
    {
      name: "SvelteKit",
      package: "@sveltejs/kit",
      app: "sveltekit",
      node: NODE,
      modes: {
        dev: { serve: (port) => ["vite", "dev", "--port", String(port)] },
        production: { build: ["vite", "build"], serve: () => ["node", "build/index.js"] },
      },
    },
    {
      name: "Astro",
      package: "astro",
      app: "astro",
      node: NODE,
      modes: {
        dev: { serve: (port) => ["astro", "dev", "--port", String(port)] },
        production: { build: ["astro", "build"], serve: () => ["node", "dist/server/entry.mjs"] },
      },
    },
  ].map((row) => ({ ...row, routes: ["/api/ropewalk"] })),
);
