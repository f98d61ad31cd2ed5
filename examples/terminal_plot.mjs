// Line plots and bars in the terminal.

/** A bar of `width` characters, filled to a `share` from 0 to 1. */
export function bar(share, width) {
  const filled = Math.round(share * width);
  return "█".repeat(filled) + "·".repeat(width - filled);
}

/**
 * Draws series of `[mark, values]`, one value per column, between `low` and `high`. Later series cover earlier ones. `ticks` are
 * `[column, text]` below the axis.
 */
export function linePlot(series, { low, high, height, ticks }) {
  const columns = series[0][1].length;
  const rowOf = (value) =>
    Math.min(height - 1, Math.max(0, Math.round(((high - value) / (high - low)) * (height - 1))));
  const rows = Array.from({ length: height }, (_, row) => Array(columns).fill(row === rowOf(0) ? "─" : " "));
  for (const [mark, values] of series) values.forEach((value, column) => (rows[rowOf(value)][column] = mark));

  const label = (row) => (high - (row / (height - 1)) * (high - low)).toFixed(2).padStart(6);
  const below = ticks.reduce((line, [column, text]) => line.padEnd(column) + text, "");
  return [
    ...rows.map((row, index) => `${label(index)} │${row.join("")}`),
    `       └${"─".repeat(columns)}`,
    `        ${below}`,
  ].join("\n");
}
