// Vite needs no settings, for a build or for the development server. `optimizeDeps: { exclude: ["ropewalk"] }`, which Vite before 8 needs, is
// harmless.
import { build as viteBuild, createServer } from "vite";
import { testApps } from "./apps.mjs";

const build = ({ app, out }) => viteBuild({ root: app, configFile: false, logLevel: "error", build: { outDir: out } });

/** A port of its own: the browser has cached pages of the usual one without these headers. */
const ISOLATED = {
  host: "localhost",
  port: 5373,
  headers: { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" },
};

const serveWith = (settings) => async (app) => {
  const server = await createServer({
    root: app,
    configFile: false,
    logLevel: "silent",
    server: { host: "localhost" },
    ...settings,
  });
  await server.listen();
  return { address: server.resolvedUrls.local[0], close: () => server.close() };
};

const served = [{}, { exclude: ["ropewalk"] }].flatMap((optimizeDeps) => {
  const [serve, settings] = [serveWith({ optimizeDeps }), JSON.stringify(optimizeDeps)];
  const serveIsolated = serveWith({ optimizeDeps, server: ISOLATED });
  return [
    { title: `the development server, optimizeDeps ${settings}`, entry: "plain", serve },
    {
      title: `the development server with a model in the Worker, optimizeDeps ${settings}`,
      entry: "model_worker",
      serve,
    },
    { title: `the development server with threads, optimizeDeps ${settings}`, entry: "threads", serve: serveIsolated },
  ];
});

testApps("vite", [
  {
    title: "the main entry",
    entry: "plain",
    build,
    wasm: /^assets\/ropewalk-[\w-]{8}\.wasm assets\/ropewalk\.relaxed-[\w-]{8}\.wasm$/,
  },
  { title: "the inline entry", entry: "inline", build },
  { title: "a worker", entry: "in_worker", build },
  { title: "a model in the Worker of ropewalk", entry: "model_worker", build },
  { title: "threads of the page and of the Worker", entry: "threads", build },
  { title: "only the config readers", entry: "config_only", build },
  ...served,
  { title: "the development server with the inline entry", entry: "inline", serve: serveWith({}) },
]);
