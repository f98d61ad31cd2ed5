// Vite 5 to 8, as its template "vanilla" makes an app.
import { testFrameworks } from "./driver.mjs";

testFrameworks(
  ["5", "6", "7", "8"].map((version) => ({
    name: `Vite ${version}`,
    package: "vite",
    install: [`vite@${version}`],
    app: "page",
    modes: {
      dev: { serve: (port) => ["vite", "--port", String(port), "--strictPort"] },
      production: { build: ["vite", "build"], folder: "dist" },
    },
  })),
);
