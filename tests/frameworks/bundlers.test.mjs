// Bundlers: a page with one script.
import { testFrameworks } from "./driver.mjs";

const CONFIG = `export default { entry: "./main.js", output: { publicPath: "/dist/" }, devServer: { static: "." } };\n`;

testFrameworks([
  {
    name: "webpack",
    package: "webpack",
    install: ["webpack@latest", "webpack-cli@latest", "webpack-dev-server@latest"],
    app: "bundled_page",
    files: { "webpack.config.js": CONFIG },
    modes: {
      dev: { serve: (port) => ["webpack", "serve", "--mode", "development", "--port", String(port)] },
      production: { build: ["webpack", "--mode", "production"], folder: "." },
    },
  },
  {
    name: "rspack",
    package: "@rspack/core",
    install: ["@rspack/core@latest", "@rspack/cli@latest", "@rspack/dev-server@latest"],
    app: "bundled_page",
    files: { "rspack.config.js": CONFIG },
    modes: {
      dev: { serve: (port) => ["rspack", "serve", "--mode", "development", "--port", String(port)] },
      production: { build: ["rspack", "build", "--mode", "production"], folder: "." },
    },
  },
  {
    name: "Parcel",
    package: "parcel",
    install: ["parcel@latest"],
    app: "parcel_page",
    setting: '`"@parcel/resolver-default": { "packageExports": true }` in package.json',
    error: "Failed to resolve 'ropewalk/worker'",
    modes: {
      dev: { serve: (port) => ["parcel", "serve", "index.html", "--port", String(port)] },
      production: { build: ["parcel", "build", "index.html", "--public-url", "./"], folder: "dist" },
    },
  },
]);
