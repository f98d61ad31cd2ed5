// Caches the site, so that it works offline, and isolates its pages from other origins, so that threads work on hosts that can't set headers.
/// <reference lib="webworker" />
import { addPlugins, cleanupOutdatedCaches, precacheAndRoute, type PrecacheEntry } from "workbox-precaching";
import { registerRoute } from "workbox-routing";
import { CacheFirst, NetworkFirst } from "workbox-strategies";

declare const self: ServiceWorkerGlobalScope;
/** All files but the guide and models, with a revision of each. Written by the build. */
declare const FILES: PrecacheEntry[];

const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "same-origin",
};

const isolate = {
  handlerWillRespond({ response }: { response: Response }): Promise<Response> {
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(ISOLATION)) headers.set(name, value);
    const { status, statusText } = response;
    return Promise.resolve(new Response(response.body, { status, statusText, headers }));
  },
};

addPlugins([isolate]);
// the state of a page is in its address
precacheAndRoute(FILES, { ignoreURLParametersMatching: [/./] });
cleanupOutdatedCaches();
registerRoute(
  ({ sameOrigin, url }) => sameOrigin && url.href.startsWith(`${self.registration.scope}guide/`),
  new NetworkFirst({ cacheName: "guide", plugins: [isolate] }),
);
// models have the hash of their bytes in their names
registerRoute(
  ({ sameOrigin, url }) => sameOrigin && /\/assets\/.*\.(gguf|safetensors)$/.test(url.pathname),
  new CacheFirst({ cacheName: "models", plugins: [isolate] }),
);

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
