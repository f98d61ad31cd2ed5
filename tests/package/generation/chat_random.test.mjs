// After any chats, edits, aborts, shifts, forks and restored copies, session.chat() has the pieces, tokens and logits of a new session, to the
// last bit. ROPEWALK_SEED and ROPEWALK_CASES draw others, and more.
//
// compare: --cases 200
import assert from "node:assert/strict";
import test, { after } from "node:test";
import { load } from "ropewalk/worker";
import { randomSource } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, rw } from "../helpers/runtime.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 6);
const TURNS = 8;

// what the assistant wrote before "</t>" is left out of all answers but the last, as reasoning is in many templates
const chatTemplate = `{% for m in messages %}{% set text = m.content %}{% if m.role == "assistant" and not loop.last %}
{%- set text = text.split("</t>")[-1] %}{% endif %}{{ m.role }} {{ text }}
{% endfor %}{% if add_generation_prompt %}assistant{% if think %} <t>{% endif %}{% endif %}`;

const scaled = (rope_scaling, most = 40) => ({ rope: { max_position_embeddings: most, rope_scaling } });
const longList = [0.9, 0.5, 0.25, 0.1];

/** Every kind of memory: full attention, windows, latents, states, chunks, keys of other layers, and RoPEs that depend on the length. */
const MODELS = {
  llama: {},
  llama_q4_k: { kv: { dtype: "q8_0" } },
  gemma3: { kv: { dtype: "f32" } },
  gemma3n: {},
  starcoder2_window: {},
  gpt_oss: {},
  llama4_chunks: {},
  deepseek_v3: { kv: { keys: "raw" } },
  qwen3_next: {},
  falcon_h1: {},
  mamba2: {},
  rwkv7: {},
  lfm2: {},
  phi3: {},
};
const SCALED = {
  dynamic: scaled({ rope_type: "dynamic", factor: 2 }),
  dynamic_yarn: scaled({ rope_type: "dynamic_yarn", factor: 2, original_max_position_embeddings: 40 }),
  custom: scaled({ rope_type: "custom", inv_freq: [...longList, ...longList.map((f) => f / 2)], lengths: [48, 96] }),
};

const worker = await load({ build });
after(() => worker.dispose());

/** Reads a generation; leaves it or aborts it at a piece, or never. */
async function read(pieces, { leaveAt = Infinity, abortAt = Infinity, controller } = {}) {
  const all = [];
  try {
    for await (const piece of pieces) {
      all.push(piece);
      if (all.length === leaveAt) break;
      if (all.length === abortAt) controller.abort();
    }
  } catch (error) {
    if (error.name !== "AbortError" && error.code !== "CACHE_FULL") throw error;
    return { all, error: error.name === "AbortError" ? "aborted" : error.message };
  }
  return { all };
}

const stateOf = async (session) => ({
  tokens: await session.tokens,
  logits: session.length > 0 && Array.from(await session.logits()),
});

const textOf = (all) => all.map(({ text }) => text).join("");

/** Runs a random chat in a session of `model`, and each turn in a new session of `here` too. */
async function runCase(random, model, here) {
  const { below, pick, chance } = random;
  const contextLength = pick([64, 100, 160]);
  const checkpoints = { spacing: pick([4, 16, 512]), count: pick([0, 1, 8]) };
  const words = () =>
    Array.from({ length: 1 + below(8) }, () => pick(["the cat", "a dog", "sat", "on </t>", "abc"])).join(" ");
  let session = await model.session({ contextLength, checkpoints });
  let messages = chance(0.5) ? [{ role: "system", content: words() }] : [];
  let kept = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    if (chance(0.2)) messages = messages.slice(0, below(messages.length + 1));
    if (chance(0.2) && messages.length > 0) messages[below(messages.length)].content = words();
    if (messages.at(-1)?.role !== "user" || chance(0.5)) messages.push({ role: "user", content: words() });
    if (chance(0.1)) await session.rewind(below(session.length + 1));
    if (chance(0.1) && session.length + 8 < contextLength) await session.append([5, 6, 7, 5]);
    if (chance(0.1) && session.length > 3)
      await session.shift({ keep: below(3), discard: 1 + below(session.length - 3) });
    if (chance(0.15)) {
      const copy = await session.fork();
      await session.dispose();
      session = copy;
    }
    if (chance(0.15)) {
      const saved = await session.save();
      await session.rewind(0);
      await session.restore(saved);
    }
    const options = {
      maxTokens: pick([0, 1, 5, 12, 60]),
      temperature: pick([0, 1]),
      seed: below(100),
      ignoreEnd: chance(0.7),
      logprobs: pick([0, 2]),
      repetitionPenalty: pick([1, 1.2]),
      whenFull: pick(["stop", "stop", "shift"]),
      addGenerationPrompt: chance(0.9),
      variables: { think: chance(0.3) },
      onWarning: () => undefined,
    };
    const controller = new AbortController();
    const how = pick([{}, {}, {}, { leaveAt: 3 }, { abortAt: 2, controller }]);
    const before = await session.tokens;
    const one = await read(session.chat(messages, { ...options, signal: controller.signal }), how);
    const there = await stateOf(session);
    const fresh = here.session({ contextLength, checkpoints });
    const again = new AbortController();
    const two = await read(fresh.chat(messages, { ...options, signal: again.signal }), { ...how, controller: again });
    assert.deepEqual(one, two, `turn ${turn}`);
    if (one.error?.startsWith("messages"))
      assert.deepEqual(there.tokens, before, "a chat that doesn't fit changes nothing");
    else assert.deepEqual(there, await stateOf(fresh), `turn ${turn}`);
    while (kept < before.length && before[kept] === fresh.tokens[kept]) kept++;
    fresh.dispose();
    if (one.error?.startsWith("messages")) messages = messages.slice(-1);
    else if (one.all.length > 0) messages.push({ role: "assistant", content: textOf(one.all) });
  }
  await session.dispose();
  return kept;
}

async function runCases(model, here) {
  let kept = 0;
  for (let at = 0; at < CASES; at++) kept += await runCase(randomSource(1000 * SEED + at), model, here);
  assert.ok(kept > 0, "no chat had a beginning in common with the session");
}

const open = (name, options) =>
  rw.model(tinyModel(`${name}/`), { chatTemplate, contextLength: 128, ...options, onWarning: () => undefined });

for (const [name, options] of Object.entries(MODELS))
  test(`${name}: chats are those of new sessions (seed ${SEED})`, async () => {
    const model = await open(name, options);
    await runCases(model, model);
    model.dispose();
  });

for (const [name, options] of Object.entries(SCALED))
  test(`llama, ${name}: chats are those of new sessions (seed ${SEED})`, async () => {
    const model = await open("llama", options);
    await runCases(model, model);
    model.dispose();
  });

for (const name of ["llama", "falcon_h1"])
  test(`${name} in a Worker: chats are those of new sessions in this thread (seed ${SEED})`, async () => {
    const here = await open(name, {});
    const model = await worker.model(tinyModel(`${name}/`), { chatTemplate, contextLength: 128 });
    await runCases(model, here);
    here.dispose();
    await model.dispose();
  });
