// A service worker that isolates pages from other origins, for hosts that can't set headers. A page registers it and reloads itself once. It goes into
// the root of a site, because its scope must contain the pages and the scripts of their Workers.
const HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
  "Cross-Origin-Resource-Policy": "cross-origin",
};

addEventListener("install", () => globalThis.skipWaiting());
addEventListener("activate", (event) => event.waitUntil(globalThis.clients.claim()));

addEventListener("fetch", (event) => {
  const { cache, mode } = event.request;
  if (cache === "only-if-cached" && mode !== "same-origin") return; // Chrome's developer tools; fetch() would reject it
  event.respondWith(fetch(event.request).then(withHeaders));
});

function withHeaders(response) {
  if (response.status === 0) return response; // from another origin without CORS: it can't be read or changed
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  const hasBody = ![101, 204, 205, 304].includes(response.status);
  return new Response(hasBody ? response.body : null, {
    status: response.status,
    statusText: response.statusText,
    headers,
  });
}
