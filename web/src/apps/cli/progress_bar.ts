// Progress bars on stderr: how much of what is done, how fast, and how long it still takes.
import progress from "cli-progress";
import { formatBytes, formatNumber } from "./format.js";

/** What a bar counts, in the plural. Bytes are shown as MiB. */
export type Unit = "bytes" | "tokens" | "texts" | "tensors" | "rounds" | "candidates";

/** A progress bar. */
export interface ProgressBar {
  /** Sets the progress, and the total if it wasn't known before. */
  update(value: number, total?: number): void;
  /** Removes the bar. Can be called again. */
  stop(): void;
}

export const NO_BAR: ProgressBar = { update: () => undefined, stop: () => undefined };

/** Cells of a bar, and the shortest time after which a speed is shown. */
const CELLS = 24;
const MIN_SECONDS = 0.5;
/** Characters of a label, so that a bar fits into 120 columns. */
const MAX_LABEL = 40;

/** A bar that appears with the first progress whose total is known: without a total, it would be full. */
export function progressBar(label: string, unit: Unit, total?: number): ProgressBar {
  let bar: progress.SingleBar | undefined;
  let started = 0;
  return {
    update(value, newTotal = total) {
      if (newTotal === undefined || newTotal === 0) return;
      if (bar === undefined) {
        started = performance.now();
        bar = new progress.SingleBar({
          format: (_options, { value: done, total: all }) =>
            progressLine(label, unit, done, all, (performance.now() - started) / 1000),
          hideCursor: true,
          clearOnComplete: true,
        });
        bar.start(newTotal, 0);
      }
      bar.setTotal(newTotal);
      bar.update(value);
    },
    stop: () => bar?.stop(),
  };
}

/** The line of a bar: `Loading model.gguf ██████░░ 70 % · 94.0 of 134.9 MiB · 312 MiB/s · 1 s left`. */
export function progressLine(label: string, unit: Unit, done: number, total: number, seconds: number): string {
  const share = Math.min(1, done / total);
  const filled = Math.floor(share * CELLS);
  const parts = [`${Math.floor(share * 100)} %`, amount(unit, done, total)];
  const speed = done / seconds;
  if (seconds >= MIN_SECONDS && done > 0) {
    parts.push(unit === "bytes" ? `${formatBytes(speed)}/s` : `${formatNumber(speed)} ${unit}/s`);
    parts.push(`${timeText((total - done) / speed)} left`);
  }
  return `${shortened(label)} ${"█".repeat(filled)}${"░".repeat(CELLS - filled)} ${parts.join(" · ")}`;
}

/** Paths are long: their beginning and end stay. */
function shortened(label: string): string {
  const characters = Array.from(label);
  if (characters.length <= MAX_LABEL) return label;
  const half = (MAX_LABEL - 1) / 2;
  return `${characters.slice(0, Math.floor(half)).join("")}…${characters.slice(-Math.ceil(half)).join("")}`;
}

function amount(unit: Unit, done: number, total: number): string {
  if (unit === "bytes") return `${formatBytes(done)} of ${formatBytes(total)}`;
  return `${done.toLocaleString("en")} of ${total.toLocaleString("en")} ${unit}`;
}

function timeText(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  return whole < 3600
    ? `${Math.floor(whole / 60)} min ${whole % 60} s`
    : `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
