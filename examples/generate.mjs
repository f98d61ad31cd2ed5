// Continues a text with a model from a file: GGUF, or a folder with safetensors, config.json and tokenizer.json. The default is the small
// model, which writes stories (small_model/README.md).
//
//   node examples/generate.mjs [model] [prompt]
import { join } from "node:path";
import { load } from "ropewalk";
import { describeRope, size, speed } from "./model_text.js";

const [source = join(import.meta.dirname, "small_model/"), prompt = "The red ball is in the garden."] =
  process.argv.slice(2);

const rw = await load();
const model = await rw.model(source);
const { name, architecture, parameters, formats, memory } = model.info;
const weights = `${parameters.toLocaleString("en")} weights as ${Object.keys(formats).join(", ")}, ${size(memory.weights)}`;
console.log(`${name}: ${architecture}, ${weights}; ${rw.build} build`);
console.log(`RoPE: ${describeRope(model.rope)}\n`);

const session = model.session();
const start = performance.now();
await session.append(prompt);
const promptTokens = session.length;
const read = performance.now();
process.stdout.write(prompt);
let [count, finish] = [0, "length"];
for await (const piece of session.generate({ maxTokens: 200, seed: 1, whenFull: "shift" })) {
  process.stdout.write(piece.text);
  count += 1;
  finish = piece.finish ?? finish;
}
const end = performance.now();

const speeds = [speed(promptTokens, read - start), speed(count, end - read)];
console.log(
  `\n\n${promptTokens} tokens read (${speeds[0]}), ${count} generated (${speeds[1]}), finish reason "${finish}"`,
);
console.log(`Context: ${session.length} of ${session.contextLength} tokens, ${size(session.bytes)} of keys and values`);
session.dispose();
model.dispose();
