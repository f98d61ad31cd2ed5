// A button that moves a range of a form with time.

/** Seconds between two steps for readers who prefer reduced motion. */
const SLOW_STEP_S = 1;

/**
 * Makes a button play and pause: the range grows by `speed()` per second until its maximum. Readers who prefer reduced motion see one step per
 * second.
 *
 * @param redraw - draws the panel. The address is only written when it pauses: browsers reject too many changes.
 */
export function playButton(
  button: HTMLButtonElement,
  range: HTMLInputElement,
  speed: () => number,
  redraw: () => void,
): void {
  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  let [last, exact, frame] = [0, 0, 0];
  const stop = (): void => {
    cancelAnimationFrame(frame);
    frame = 0;
    button.textContent = "Play";
    range.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const step = (now: number): void => {
    frame = requestAnimationFrame(step);
    const seconds = (now - last) / 1000;
    if (reducedMotion.matches && seconds < SLOW_STEP_S) return;
    last = now;
    if (Math.round(exact) !== Number(range.value)) exact = Number(range.value); // the user has moved it
    exact = Math.min(Number(range.max), exact + seconds * speed());
    range.value = String(exact);
    redraw();
    if (exact === Number(range.max)) stop();
  };
  button.addEventListener("click", () => {
    if (frame !== 0) {
      stop();
      return;
    }
    if (range.value === range.max) range.value = "0";
    [last, exact] = [performance.now(), Number(range.value)];
    button.textContent = "Pause";
    frame = requestAnimationFrame(step);
  });
}
