// Dragging in charts, by mouse and by touch.
import { drag } from "d3-drag";
import { select } from "d3-selection";
import { find } from "./elements.js";
import "./drag.css";

/** Pixels around a handle that belong to it: a fingertip. */
const REACH = 32;

/** A point of a chart that can be dragged. */
export interface Handle {
  /** Pixels from the left and the top of the chart. */
  readonly x: number;
  /** Absent for a vertical line. */
  readonly y?: number;
  /** Of a vertical line, the y of its dot. Only that takes a touch: elsewhere on the line, a finger scrolls the page. */
  readonly dot?: number;
  /** Called with the point that the handle is dragged to. It changes a control of the form. */
  readonly move: (x: number, y: number) => void;
}

type Subject = Handle & { y: number };

/**
 * Makes points of a figure's chart draggable. An empty element over the chart gets the events: it stays when the chart is drawn again, and a
 * touch ends for the page when its element is removed.
 *
 * @param handlesOf - returns the handles of the chart as it is drawn now
 */
export function makeDraggable(figure: HTMLElement, handlesOf: () => readonly Handle[]): void {
  const chart = find(".chart", figure);
  const wrapper = Object.assign(document.createElement("div"), { className: "draggable" });
  const area = Object.assign(document.createElement("div"), { className: "drag-area" });
  chart.replaceWith(wrapper);
  wrapper.append(chart, area);

  const nearest = (x: number, y: number, isTouch = false): Subject | undefined => {
    const distance = (handle: Handle): number =>
      Math.hypot(handle.x - x, (handle.y ?? (isTouch ? handle.dot : undefined) ?? y) - y);
    const handles = [...handlesOf()].sort((a, b) => distance(a) - distance(b));
    const [handle] = handles;
    return handle !== undefined && distance(handle) < REACH ? { y, ...handle } : undefined;
  };
  const behavior = drag<HTMLDivElement, unknown, Subject | undefined>()
    .container(area)
    .subject(({ x, y, sourceEvent }: { x: number; y: number; sourceEvent: Event }) =>
      nearest(x, y, sourceEvent.type === "touchstart"),
    )
    .on("drag", ({ subject, x, y }: { subject: Subject; x: number; y: number }) => subject.move(x, y));
  // A touch that hits no handle scrolls the page.
  select(area).call(behavior).style("touch-action", "pan-y pinch-zoom");
  area.addEventListener("pointermove", ({ offsetX, offsetY }) => {
    area.style.cursor = nearest(offsetX, offsetY) === undefined ? "" : "grab";
  });
}

/** The scales of a figure's chart of Observable Plot: values to pixels and back. */
export function scaleOf(
  figure: HTMLElement,
  name: "x" | "y",
): { toPixel: (value: number) => number; toValue: (pixel: number) => number } {
  const chart = find<
    SVGSVGElement & { scale: (name: string) => Record<"apply" | "invert", (value: number) => number> }
  >(".chart svg", figure);
  const { apply, invert } = chart.scale(name);
  return { toPixel: apply, toValue: invert };
}
