// Starts each panel of the Lab when it comes near the visible part of the page, and marks the panel in sight in the index.
import { type Mount, startPanel } from "./panel.js";

/** The panels by the id of their section. Each is a folder with a page part, panel.html, and a module, panel.ts. */
const panels: Record<string, () => Promise<{ mount: Mount }>> = {
  one_pair: () => import("./one_pair/panel.js"),
  clocks: () => import("./clocks/panel.js"),
  pairings: () => import("./pairings/panel.js"),
  distance: () => import("./distance/panel.js"),
  scaling: () => import("./scaling/panel.js"),
  live: () => import("./live/panel.js"),
  exact: () => import("./exact/panel.js"),
  schemes: () => import("./schemes/panel.js"),
};

const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      void startPanel(target as HTMLElement, panels[target.id]!);
    }
  },
  { rootMargin: "300px" },
);

for (const id of Object.keys(panels)) {
  const section = document.getElementById(id);
  if (section !== null) observer.observe(section);
}

const links = new Map(
  [...document.querySelectorAll<HTMLAnchorElement>(".contents a")].map((link) => [link.hash.slice(1), link]),
);

/** The panel that crosses the upper third of the window is the one that is read. */
const inSight = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      const link = links.get(target.id)!;
      if (!isIntersecting) link.removeAttribute("aria-current");
      else {
        link.setAttribute("aria-current", "true");
        const list = link.closest("nav")!;
        list.scrollTo({ left: link.offsetLeft - list.clientWidth / 3 });
      }
    }
  },
  { rootMargin: "-30% 0px -69% 0px" },
);
for (const id of links.keys()) inSight.observe(document.getElementById(id)!);
