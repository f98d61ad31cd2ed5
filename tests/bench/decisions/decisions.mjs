// Typed questions to the released SmolLM2-135M-Instruct, answered by decide() and as JSON that it writes, in turn. Prints `{ lines, table }`.
import { join } from "node:path";
import { load } from "../../../dist/index.node.js";
import { MESSAGES } from "../../../examples/triage/messages.mjs";
import { fetchReleased, releasedFolders } from "../../../scripts/setup/released.mjs";
import { median } from "../measure.mjs";

const ROUNDS = 7;
const GROUPS = { billing: "payments, invoices and refunds", delivery: "parcels on their way", other: "anything else" };
const LEVELS = ["can wait", "this week", "today"];
const TOPIC = "What is the message about?";
const [URGENCY, ANGRY] = ["How urgent is it?", "Is the writer angry?"];

const questions = {
  topic: { type: "choice", instructions: TOPIC, criteria: GROUPS },
  urgency: { type: "score", instructions: URGENCY, criteria: LEVELS },
  angry: { type: "boolean", instructions: ANGRY },
};
const lines = Object.entries(GROUPS).map(([name, meaning]) => `${name} - ${meaning}`);
const asked = {
  topic: `topic: ${TOPIC} One of: ${lines.join("; ")}.`,
  urgency: `urgency: ${URGENCY} A number: ${LEVELS.map((level, i) => `${i} - ${level}`).join("; ")}.`,
  angry: `angry: ${ANGRY} true or false.`,
};
const properties = {
  topic: { enum: Object.keys(GROUPS) },
  urgency: { type: "integer", minimum: 0, maximum: LEVELS.length - 1 },
  angry: { type: "boolean" },
};

fetchReleased();
const path = join(releasedFolders().smollm2, "SmolLM2-135M-Instruct.Q4_1.gguf");
const rw = await load({ build: "relaxed", threads: 1 });
const model = await rw.model(path);

const pick = (from, names) => Object.fromEntries(names.map((name) => [name, from[name]]));

/** Answers by decide(). */
const decide = async (message, names) => (await model.decide(message, pick(questions, names))).usage;

/** The same questions, answered in JSON of a schema. */
async function write(message, names) {
  const content = `Message: ${message}\n\nAnswer in JSON.\n${names.map((name) => asked[name]).join("\n")}`;
  const schema = { type: "object", properties: pick(properties, names), required: names, additionalProperties: false };
  const { text, tokens } = await model.complete([{ role: "user", content }], {
    format: { schema },
    temperature: 0,
    maxTokens: 100,
  });
  JSON.parse(text);
  return { output_tokens: tokens.length };
}

const SETS = { "one question": ["topic"], "three questions": Object.keys(questions) };
const rows = [];
const results = [];
for (const [name, names] of Object.entries(SETS)) {
  const times = { decide: [], write: [] };
  const ratios = [];
  let written = 0;
  for (let round = 0; round <= ROUNDS; round++) {
    const message = MESSAGES[round];
    const took = {};
    for (const [way, answer] of Object.entries({ decide, write })) {
      const start = performance.now();
      const { output_tokens } = await answer(message, names);
      took[way] = performance.now() - start;
      if (way === "write") written = output_tokens;
    }
    if (round === 0) continue; // a warm-up
    for (const way of Object.keys(times)) times[way].push(took[way]);
    ratios.push(took.write / took.decide);
  }
  const rate = (way) => (1000 * names.length) / median(times[way]);
  const ratio = median(ratios);
  rows.push([name, rate("decide").toFixed(1), rate("write").toFixed(1), written, `${ratio.toFixed(1)} ×`]);
  results.push({ name: `${name}: decide() beside JSON that is written`, value: ratio, unit: "×" });
}
model.dispose();
const head = ["about one message", "`decide()`, questions/s", "JSON, questions/s", "tokens written", "faster"];
const table = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
console.log(JSON.stringify({ lines: results, table }));
