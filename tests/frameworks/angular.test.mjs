// Angular, as its command line makes an app.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { testFrameworks } from "./driver.mjs";

const ASSETS = {
  glob: "{worker_thread.js,wasm/*.wasm,load/helper_thread.js}",
  input: "node_modules/ropewalk/dist",
  output: "/",
};

/** The app's angular.json with the files of the package. */
async function withAssets() {
  const config = JSON.parse(await readFile(join(import.meta.dirname, "apps", "angular", "angular.json"), "utf8"));
  config.projects.app.architect.build.options.assets = [ASSETS];
  return JSON.stringify(config);
}

const copied = {
  files: { "angular.json": await withAssets() },
  setting: `for \`build\`, \`${JSON.stringify(ASSETS).replace(/(?<=[{:,])(?=")|(?=\}$)/g, " ")}\` in \`assets\` of angular.json`,
  error: "WASM_LOAD … the server answered 404 for …/wasm/ropewalk.wasm; copy the package's wasm files there",
};

/** What the command line installs, in a version. */
const installed = (version, typescript) => [
  ...["build", "cli", "common", "compiler", "compiler-cli", "core", "platform-browser"].map(
    (name) => `@angular/${name}@${version}`,
  ),
  `typescript@${typescript}`,
];

testFrameworks(
  [
    { name: "Angular 21", install: installed("21", "5.9"), ...copied },
    { name: "Angular 22", install: installed("22", "6.0"), ...copied },
    { name: "Angular 22, inline entries", install: installed("22", "6.0"), entry: "inline" },
  ].map((row) => ({
    ...row,
    package: "@angular/core",
    app: "angular",
    node: 22,
    modes: {
      // not as in CI, but as on a developer's machine, where the development server bundles packages
      dev: { serve: (port) => ["ng", "serve", "--port", String(port)], env: { CI: "" } },
      production: { build: ["ng", "build"], folder: "dist/app/browser" },
    },
  })),
);
