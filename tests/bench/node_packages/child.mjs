// Runs one of the packages in a process of its own: `node child.mjs CONTENDER.mjs OPTIONS`. Prints a line when the first vector is there. Then each
// line of its input, a list of texts as JSON, is answered by `{ ms, vectors }`.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [script, options] = process.argv.slice(2);
const { open } = await import(pathToFileURL(script));
const embed = await open(JSON.parse(options));
await embed(["a rope"]);
console.log("first");
for await (const line of createInterface(process.stdin)) {
  const texts = JSON.parse(line);
  const start = performance.now();
  const vectors = await embed(texts);
  const ms = performance.now() - start;
  console.log(JSON.stringify({ ms, vectors: vectors.map((vector) => Array.from(vector)) }));
}
process.exit(); // native add-ons would keep it alive
