// Small clocks, one for each pair.

/** A clock. */
export interface Clock {
  readonly name: string;
  readonly title: string;
  /** Share of the circle that its hand reaches; 1 for all of it. */
  readonly reached: number;
}

const RADIUS = 17;

/** Replaces the clocks of a list. */
export function drawClocks(list: HTMLElement, clocks: readonly Clock[]): void {
  list.replaceChildren(
    ...clocks.map(({ name, title, reached }) => {
      const item = document.createElement("li");
      item.title = title;
      item.classList.toggle("incomplete", reached < 1);
      const face = element("svg", { viewBox: "-19 -19 38 38" });
      face.append(element("circle", { r: RADIUS }), element("path", { d: sector(reached) }), element("line", {}));
      item.append(face, name);
      return item;
    }),
  );
}

/** Turns the hands of the clocks. Angles grow counterclockwise from the right, as in mathematics. */
export function turnHands(list: HTMLElement, angles: readonly { cos: number; sin: number }[]): void {
  for (const [i, hand] of list.querySelectorAll("line").entries()) {
    hand.setAttribute("x2", String(RADIUS * angles[i]!.cos));
    hand.setAttribute("y2", String(-RADIUS * angles[i]!.sin));
  }
}

/** The part of the circle from angle 0 that a hand reaches, as the `d` of a path; empty for the whole circle. */
function sector(reached: number): string {
  if (reached >= 1) return "";
  const angle = 2 * Math.PI * reached;
  const [x, y] = [RADIUS * Math.cos(angle), -RADIUS * Math.sin(angle)];
  return `M0 0H${RADIUS}A${RADIUS} ${RADIUS} 0 ${reached > 0.5 ? 1 : 0} 0 ${x} ${y}Z`;
}

function element(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const created = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, String(value));
  return created;
}
