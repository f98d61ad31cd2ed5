// Breaks the small model in the ways that models break when they move from one program to another. Prints the mean loss and the mean probability
// of the right answer to each question.
//
//   node examples/small_model/break_it.mjs [pairing | permuted | base | scaling | stale] [folder of the model]
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { load } from "ropewalk";
import { mean } from "./tables.mjs";
import { textOf, tokensOf, TRAINED_LENGTH } from "./texts.mjs";

const STORIES = [1, 2, 3, 4, 5, 6].map((seed) => 9_000_000 + seed);
const FACTOR = 4;
const yarn = { rope_scaling: { rope_type: "yarn", factor: FACTOR, original_max_position_embeddings: TRAINED_LENGTH } };

const rw = await load();

/** The tokens of a story, and the indices of the answers to its questions. */
async function storyTokens(model, seed, length) {
  const text = textOf({ seed, length, near: true });
  return { tokens: await tokensOf(model, text), answers: text.questions.map(({ at }) => at) };
}

/** Mean loss and mean probability of the right answers, from a given token on, over stories with these losses. */
function summary(stories, from = 1) {
  const losses = stories.flatMap(({ losses }) => [...losses.slice(from)]);
  const answers = stories.flatMap(({ losses, answers }) =>
    answers.filter((at) => at >= from).map((at) => Math.exp(-losses[at])),
  );
  return { loss: mean(losses), answer: mean(answers) };
}

/** The summary of a model that reads the stories from the start. */
async function measure(source, { rope, length = TRAINED_LENGTH } = {}) {
  const model = await rw.model(source, { rope, contextLength: length, tokenizer: { tokenizer } });
  const stories = [];
  for (const seed of STORIES) {
    const { tokens, answers } = await storyTokens(model, seed, length);
    stories.push({ losses: (await model.perplexity(tokens)).losses, answers });
  }
  model.dispose();
  return summary(stories);
}

/** The files of a model with permuted rows of its q and k projections, as llama.cpp's converter writes them. */
async function permuted(folder) {
  const [config, bytes] = await Promise.all(
    ["config.json", "model.safetensors"].map((name) => readFile(join(folder, name))),
  );
  const { num_attention_heads: heads, num_key_value_heads: kvHeads, head_dim } = JSON.parse(config);
  const headerBytes = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, 8 + headerBytes));
  for (const [name, { dtype, data_offsets }] of Object.entries(header)) {
    const projection = /\.([qk])_proj\.weight$/.exec(name)?.[1];
    if (projection === undefined) continue;
    const [begin, end] = data_offsets.map((offset) => 8 + headerBytes + offset);
    const weights = new (dtype === "F32" ? Float32Array : Uint16Array)(
      new Uint8Array(bytes.subarray(begin, end)).buffer,
    );
    const rows = rw.convertPairing(weights, {
      heads: projection === "q" ? heads : kvHeads,
      head_dim,
      from: "half",
      to: "interleaved",
    });
    bytes.set(new Uint8Array(rows.buffer), begin);
  }
  return [new File([config], "config.json"), new File([bytes], "model.safetensors")];
}

/** A saved session with the keys and values of `old` under the RoPE of `fresh`: a program that doesn't re-rotate cached keys. */
function withOldKeys(fresh, old) {
  const mixed = Buffer.from(fresh);
  const cacheAt = (bytes) => 16 + Buffer.from(bytes).readUInt32LE(8); // after the session's header
  const contentAt = (bytes) => cacheAt(bytes) + 32 + Buffer.from(bytes).readUInt32LE(cacheAt(bytes) + 16); // after the cache's header
  const end = mixed.length - 4;
  mixed.set(old.subarray(contentAt(old), old.length - 4), contentAt(fresh));
  mixed.writeUInt32LE(crc32(mixed.subarray(cacheAt(fresh), end)), end);
  return new Uint8Array(mixed);
}

/** Reads the first tokens of each story under plain RoPE, switches to YaRN by `change`, and measures the rest. */
async function measureAfter(folder, change) {
  const model = await rw.model(folder, { contextLength: FACTOR * TRAINED_LENGTH, tokenizer: { tokenizer } });
  const known = 200;
  const stories = [];
  for (const seed of STORIES) {
    const { tokens, answers } = await storyTokens(model, seed, known + 200);
    const session = model.session();
    await session.append(tokens.slice(0, known));
    await change(session, tokens.slice(0, known), model);
    const losses = new Float64Array(tokens.length);
    for (let at = known; at < tokens.length; at++) {
      losses[at] = -session.logprobOf(tokens[at]);
      await session.append([tokens[at]]);
    }
    stories.push({ losses, answers });
    session.dispose();
  }
  model.dispose();
  return summary(stories, known);
}

async function readAgain(session, tokens) {
  session.rewind(0);
  session.retune(yarn);
  await session.append(tokens);
}

async function leaveStale(session, tokens, model) {
  const fresh = model.session();
  await readAgain(fresh, tokens);
  session.restore(withOldKeys(fresh.save(), session.save()));
  fresh.dispose();
}

const trials = {
  pairing: (folder) => [
    ["pairs (j, j + 16), as trained", () => measure(folder)],
    ["pairs (2j, 2j + 1)", () => measure(folder, { rope: { pairing: "interleaved" } })],
  ],
  permuted: (folder) => [
    ["rows permuted, pairs (j, j + 16)", async () => measure(await permuted(folder))],
    [
      "rows permuted, pairs (2j, 2j + 1)",
      async () => measure(await permuted(folder), { rope: { pairing: "interleaved" } }),
    ],
  ],
  base: (folder) =>
    [10_000, 1000, 500_000].map((rope_theta) => [
      `base ${rope_theta}`,
      () => measure(folder, { rope: { rope_theta } }),
    ]),
  scaling: (folder) => [
    [
      "fine-tuned under YaRN, as its config says",
      () => measure(join(folder, "yarn/"), { length: FACTOR * TRAINED_LENGTH }),
    ],
    ["not fine-tuned, under the same scaling", () => measure(folder, { length: FACTOR * TRAINED_LENGTH, rope: yarn })],
    [
      "the fine-tune, its scaling ignored",
      () => measure(join(folder, "yarn/"), { length: FACTOR * TRAINED_LENGTH, rope: { rope_scaling: null } }),
    ],
  ],
  stale: (folder) => [
    ["stretched at token 200, all read again", () => measureAfter(folder, readAgain)],
    ["cached keys rotated: retune()", () => measureAfter(folder, (session) => session.retune(yarn))],
    ["cached keys left as they were", () => measureAfter(folder, leaveStale)],
  ],
};

const [given, folder = fileURLToPath(new URL(".", import.meta.url))] = process.argv.slice(2);
if (given !== undefined && !(given in trials)) {
  console.error(`unknown trial ${given}: choose one of ${Object.keys(trials).join(", ")}`);
  process.exit(2);
}
const tokenizer = JSON.parse(await readFile(join(folder, "tokenizer.json")));
console.log(`${"".padEnd(44)}loss   right answer`);
for (const name of given === undefined ? Object.keys(trials) : [given]) {
  for (const [title, run] of trials[name](join(folder, "/"))) {
    const { loss, answer } = await run();
    console.log(`${title.padEnd(42)}${loss.toFixed(3).padStart(6)}   ${`${(100 * answer).toFixed(1)} %`.padStart(12)}`);
  }
}
