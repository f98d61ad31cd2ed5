// Programs that run the tests of an app.
import { testFrameworks } from "./driver.mjs";

testFrameworks([
  {
    name: "Vitest",
    package: "vitest",
    install: ["vitest@latest"],
    app: "tested",
    node: 22,
    modes: { dev: { print: ["vitest", "run", "--globals"] } },
  },
  {
    name: "Jest",
    package: "jest",
    install: ["jest@latest"],
    app: "tested",
    setting: '`NODE_OPTIONS=--experimental-vm-modules`, with tests that are ES modules (`"type": "module"`)',
    error: "Must use import to load ES Module: …/node_modules/ropewalk/dist/index.node.js",
    modes: { dev: { print: ["jest"], env: { NODE_OPTIONS: "--experimental-vm-modules" } } },
  },
]);
