// Vite 5 to 8, as its template "vanilla" makes an app.
import { testFrameworks } from "./driver.mjs";

const EXCLUDED = 'export default { optimizeDeps: { exclude: ["ropewalk"] } };\n';

testFrameworks(
  ["5", "6", "7", "8"].map((version) => ({
    name: `Vite ${version}`,
    package: "vite",
    install: [`vite@${version}`],
    app: "page",
    ...(version !== "8" && {
      files: { "vite.config.js": EXCLUDED },
      setting: 'for `dev`, `optimizeDeps: { exclude: ["ropewalk"] }` in vite.config.js',
      error: "WASM_LOAD … is an HTML page; is the file served at this address?",
    }),
    modes: {
      dev: { serve: (port) => ["vite", "--port", String(port), "--strictPort"] },
      production: { build: ["vite", "build"], folder: "dist" },
    },
  })),
);
