// What each page starts: names of controls, no files in place of the page, and the service worker, which caches the site.

/** The site's first page. Pages are at most one folder deep. */
const site = new URL(document.querySelector<HTMLAnchorElement>("header.site .name")?.href ?? location.href);

// An output in a label would take the name that belongs to the control.
for (const [i, label] of document.querySelectorAll<HTMLLabelElement>("label:has(output)").entries()) {
  const control = label.querySelector<HTMLElement>("input, select");
  if (control === null) continue;
  if (control.id === "") control.id = `control-${i}`;
  label.htmlFor = control.id;
}

// A file dropped beside the places that take files would replace the page. File inputs take theirs.
for (const type of ["dragover", "drop"] as const)
  addEventListener(type, (event) => {
    const isInput = event.target instanceof HTMLInputElement && event.target.type === "file";
    if (!isInput && event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });

if (import.meta.env.PROD && "serviceWorker" in navigator) {
  addEventListener("load", () => {
    navigator.serviceWorker.register(new URL("service_worker.js", site)).catch(() => undefined); // for example in a private window
  });
}
