// A page without a bundler, whose import map takes the package from another origin.
import { testFrameworks } from "./driver.mjs";

testFrameworks(
  [{ name: "import map, another origin" }, { name: "import map, another origin, inline entries", entry: "inline" }].map(
    (row) => ({
      ...row,
      version: async (browser) => (await browser.version()).replace(/^.*\//, "Chromium "),
      app: "import_map",
      setting: "the other origin allows pages to read its files (CORS)",
      modes: { production: { folder: ".", cdn: "https://cdn.jsdelivr.net/npm/ropewalk/dist" } },
    }),
  ),
);
