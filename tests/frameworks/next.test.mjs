// Next: a client component, and both entries in a route handler, with each of its bundlers.
import { testFrameworks } from "./driver.mjs";

testFrameworks(
  [
    { name: "Next", flags: [] },
    { name: "Next with webpack", flags: ["--webpack"] },
  ].map(({ name, flags }) => ({
    name,
    package: "next",
    app: "next",
    routes: ["/api/ropewalk"],
    modes: {
      dev: { serve: (port) => ["next", "dev", ...flags, "--port", String(port)] },
      production: {
        build: ["next", "build", ...flags],
        serve: (port) => ["next", "start", "--port", String(port)],
      },
    },
  })),
);
