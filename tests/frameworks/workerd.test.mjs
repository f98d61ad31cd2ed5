// Workers of Cloudflare, in workerd as it runs here.
import { testFrameworks } from "./driver.mjs";

testFrameworks([
  {
    name: "Cloudflare Workers",
    package: "wrangler",
    install: ["wrangler@latest"],
    app: "workerd",
    node: 22,
    routes: ["/"],
    page: false,
    modes: {
      dev: { serve: (port) => ["wrangler", "dev", "--port", String(port)], env: { WRANGLER_SEND_METRICS: "false" } },
      production: {
        build: ["wrangler", "deploy", "--dry-run", "--outdir", "out"],
        serve: (port) => ["wrangler", "dev", "out/index.js", "--no-bundle", "--port", String(port)],
        env: { WRANGLER_SEND_METRICS: "false" },
      },
    },
  },
]);
