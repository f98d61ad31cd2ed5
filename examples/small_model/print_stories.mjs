// Prints stories like those that the small model is trained on.
//
//   node examples/small_model/print_stories.mjs [seed] [words]            one
//   node examples/small_model/print_stories.mjs --lines N [seed] [words]  N stories, one per line
import { story } from "./stories.mjs";

const args = process.argv.slice(2);
const lines = args[0] === "--lines" ? Number(args.splice(0, 2)[1]) : 1;
const [seed, length] = [Number(args[0] ?? 1), Number(args[1] ?? 256)];
for (let line = 0; line < lines; line++) {
  const sentences = Array.from(story({ seed: seed + line, length }), ({ text }) => text);
  process.stdout.write(`${sentences.join(" ")}\n`);
}
