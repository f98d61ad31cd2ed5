// Programs outside pages. Their Workers are threads.
import { testFrameworks } from "./driver.mjs";

testFrameworks([
  { name: "Node", app: "program", modes: { production: { print: ["node", "main.js"] } } },
  {
    name: "Bun, bun build --target=bun",
    package: "bun",
    install: ["bun@latest"],
    app: "program",
    modes: {
      dev: { print: ["bun", "main.js"] },
      production: {
        build: ["bun", "build", "main.js", "--target=bun", "--outfile=out/main.js"],
        print: ["bun", "out/main.js"],
      },
    },
  },
  {
    name: "bun build --target=node",
    package: "bun",
    install: ["bun@latest"],
    app: "program",
    modes: {
      production: {
        build: ["bun", "build", "main.js", "--target=node", "--outfile=out/main.mjs"],
        print: ["node", "out/main.mjs"],
      },
    },
  },
  {
    name: "bun build --compile",
    package: "bun",
    install: ["bun@latest"],
    app: "program",
    modes: {
      production: { build: ["bun", "build", "--compile", "main.js", "--outfile", "program"], print: ["./program"] },
    },
  },
  {
    name: "Deno",
    package: "deno",
    install: ["deno@latest"],
    app: "program",
    modes: { production: { print: ["deno", "run", "--allow-all", "main.js"] } },
  },
  {
    name: "esbuild for Node",
    package: "esbuild",
    install: ["esbuild@latest"],
    app: "program",
    modes: {
      production: {
        build: ["esbuild", "main.js", "--bundle", "--platform=node", "--format=esm", "--outfile=out/main.mjs"],
        print: ["node", "out/main.mjs"],
      },
    },
  },
]);
