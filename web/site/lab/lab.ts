// Starts each panel of the Lab when it comes near the visible part of the page.
import { type Mount, startPanel } from "./panel.js";

/** The panels by the id of their section. Each is a page part `<id>.html` and a module `<id>.ts`. */
const panels: Record<string, () => Promise<{ mount: Mount }>> = {
  one_pair: () => import("./one_pair.js"),
  clocks: () => import("./clocks.js"),
  pairings: () => import("./pairings.js"),
  distance: () => import("./distance.js"),
  scaling: () => import("./scaling.js"),
  live: () => import("./live.js"),
  exact: () => import("./exact.js"),
  schemes: () => import("./schemes.js"),
};

const observer = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      void startPanel(target as HTMLElement, panels[target.id]!);
    }
  },
  { rootMargin: "600px" },
);

for (const id of Object.keys(panels)) {
  const section = document.getElementById(id);
  if (section !== null) observer.observe(section);
}
