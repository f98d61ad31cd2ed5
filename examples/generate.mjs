// Goes on with a text, by a model from a file: GGUF, or a folder with safetensors, config.json and tokenizer.json. Without a file it makes a tiny
// model of its own, with random weights, which speaks nonsense.
//
//   node examples/generate.mjs [model] [prompt]
import { load } from "ropewalk";
import { tinyModelBytes } from "./make_tiny_model.mjs";
import { describeRope, size, speed } from "./model_text.js";

const [source, prompt = "The old rope walk lies"] = process.argv.slice(2);
if (source === undefined) console.log("No model named: this one is made up on the spot, its weights are random, and it speaks nonsense.\n");

const rw = await load();
const model = await rw.model(source ?? tinyModelBytes());
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
for await (const piece of session.generate({ maxTokens: 200, seed: 1, repetitionPenalty: 1.1, whenFull: "shift" })) {
  process.stdout.write(piece.text);
  count += 1;
  finish = piece.finish ?? finish;
}
const end = performance.now();

const speeds = [speed(promptTokens, read - start), speed(count, end - read)];
console.log(`\n\n${promptTokens} tokens read (${speeds[0]}), ${count} generated (${speeds[1]}), ended by "${finish}"`);
console.log(`Context: ${session.length} of ${session.contextLength} tokens, ${size(session.bytes)} of keys and values`);
session.dispose();
model.dispose();
