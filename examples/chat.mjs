// A chat in the terminal with a model from a file. Ctrl-C stops an answer; at the prompt it ends the program.
//
//   node examples/chat.mjs model [system prompt]
import { createInterface } from "node:readline/promises";
import { load } from "ropewalk";
import { tinyModelBytes } from "./make_tiny_model.mjs";
import { describeRope, speed } from "./model_text.js";

const [source, system] = process.argv.slice(2);
const maxTokens = 256; // of an answer

const rw = await load();
const model = await rw.model(source ?? tinyModelBytes());
const session = model.session();
if (source === undefined)
  console.log("No model given: using a tiny model with random weights, which generates nonsense.");
const { name, architecture } = model.info;
console.log(
  `${name}: ${architecture}, RoPE ${describeRope(model.rope)}, context ${session.contextLength}. An empty line ends.`,
);

const messages = system === undefined ? [] : [{ role: "system", content: system }];
const terminal = createInterface({ input: process.stdin, output: process.stdout });
let answering;
terminal.on("SIGINT", () => (answering === undefined ? terminal.close() : answering.abort()));

async function answer() {
  answering = new AbortController();
  const { signal } = answering;
  const answered = { role: "assistant", content: "" };
  const start = performance.now();
  let [count, first] = [0, start];
  try {
    // reads only what is new since the last answer; a full context is extended by YaRN
    for await (const { text } of session.chat(messages, { maxTokens, whenFull: "extend", signal })) {
      if (count === 0) first = performance.now();
      process.stdout.write(text);
      answered.content += text;
      count += 1;
    }
  } catch (error) {
    process.stdout.write(signal.aborted ? " [stopped]" : error.message);
  } finally {
    answering = undefined;
  }
  if (count > 0) messages.push(answered);
  else messages.pop();
  const time = `${speed(count, performance.now() - first)} after ${((first - start) / 1000).toFixed(2)} s`;
  console.log(
    `\n  (${time}; ${session.length} of ${session.contextLength} tokens; RoPE ${describeRope(session.rope)})`,
  );
}

terminal.setPrompt("> ");
terminal.prompt();
for await (const line of terminal) {
  if (line.trim() === "") break;
  messages.push({ role: "user", content: line });
  await answer();
  terminal.prompt();
}
terminal.close();
session.dispose();
model.dispose();
