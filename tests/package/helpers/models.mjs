// Tiny models, and the results of other systems for them.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Path of a file in tests/golden/tiny_models/. */
export const tinyModel = (path) => fileURLToPath(new URL(`../../golden/tiny_models/${path}`, import.meta.url));

export const readExpected = (name, file) => JSON.parse(readFileSync(tinyModel(`${name}/${file}`), "utf8"));

const differences = (rows, others) => {
  if (rows.length !== others.length) throw new Error(`${rows.length} rows and ${others.length}`);
  return rows.flatMap((row, i) => {
    if (row.length !== others[i].length) throw new Error(`${row.length} numbers and ${others[i].length}`);
    return Array.from(row, (number, j) => Math.abs(number - others[i][j]));
  });
};

/** Largest difference between the numbers of two lists of rows; infinite if there is a NaN. */
export const largestDifference = (rows, others) =>
  differences(rows, others).reduce((most, one) => (one <= most ? most : Number.isNaN(one) ? Infinity : one), 0);

export function rootMeanSquare(rows, others) {
  const all = differences(rows, others);
  return Math.sqrt(all.reduce((sum, one) => sum + one * one, 0) / all.length);
}
