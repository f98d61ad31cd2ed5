// What each page starts: the service worker, which caches the site.

/** The site's first page. Pages are at most one folder deep. */
const site = new URL(document.querySelector<HTMLAnchorElement>("header.site .name")?.href ?? location.href);

if (import.meta.env.PROD && "serviceWorker" in navigator) {
  addEventListener("load", () => {
    navigator.serviceWorker.register(new URL("service_worker.js", site)).catch(() => undefined); // for example in a private window
  });
}
