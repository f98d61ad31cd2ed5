// Angular, as its command line makes an app.
import { testFrameworks } from "./driver.mjs";

const ASSETS =
  '{ "glob": "{worker_thread.js,wasm/*.wasm,load/helper_thread.js}", "input": "node_modules/ropewalk/dist", "output": "/" }';

/** The packages of Angular in a version. */
const packages = (version) =>
  ["build", "cli", "common", "compiler", "compiler-cli", "core", "platform-browser"].map(
    (name) => `@angular/${name}@${version}`,
  );

testFrameworks(
  [
    { name: "Angular 21", install: [...packages(21), "typescript@5.9"] },
    { name: "Angular 22", install: [...packages(22), "typescript@6.0"] },
  ].map((row) => ({
    ...row,
    package: "@angular/core",
    app: "angular",
    node: 22,
    setting: `for \`build\`, ${"`"}${ASSETS}${"`"} in \`assets\` of angular.json`,
    error: "WASM_LOAD … the server answered 404 for …/wasm/ropewalk.wasm",
    // Without CI, as on a developer's machine: there, Vite bundles packages for the development server.
    modes: {
      dev: { serve: (port) => ["ng", "serve", "--port", String(port)], env: { CI: "" } },
      production: { build: ["ng", "build"], folder: "dist/app/browser" },
    },
  })),
);
