// Drawing while a model works.

/** Drawing takes at most a fourth of the time. */
const TIMES_DRAWING = 3;

/**
 * Returns a function that draws, unless the last drawing ended less than `everyMs` ago, or less than three times as long as it took. The model
 * waits while the page draws, and a slow browser would do little else.
 */
export function rarely(everyMs: number, draw: () => void): () => void {
  let next = 0;
  return () => {
    const start = performance.now();
    if (start < next) return;
    next = Infinity; // until this drawing has been shown, which a hidden page doesn't do
    draw();
    requestAnimationFrame(() =>
      setTimeout(() => {
        const end = performance.now(); // after layout and paint
        next = end + Math.max(everyMs, TIMES_DRAWING * (end - start));
      }),
    );
  };
}
