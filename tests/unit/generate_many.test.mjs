// What generateMany() reads of each prompt: the beginnings that prompts share are read once.
import assert from "node:assert/strict";
import test from "node:test";
import { generateMany } from "../../build/package/runtime/model/generate_many.js";

/** A session that notes what it reads. */
class NotingSession {
  contextLength = 1000;

  constructor(notes, tokens = []) {
    this.notes = notes;
    this.tokens = tokens;
  }

  get length() {
    return this.tokens.length;
  }

  append(tokens) {
    this.notes.push(tokens.length);
    this.tokens = [...this.tokens, ...tokens];
  }

  rewind(length) {
    this.tokens = this.tokens.slice(0, length);
  }

  fork() {
    return new NotingSession(this.notes, this.tokens);
  }

  async *generate() {
    for (let i = 0; i < 2; i++) {
      this.tokens = [...this.tokens, 1000 + i];
      yield { token: 1000 + i, text: "", ...(i === 1 && { finish: "length" }) };
    }
  }

  dispose() {
    this.tokens = [];
  }
}

const planOf = (kind, rope_type) => ({ layers: [{ kind, rope: { rope_theta: 10000, rope_scaling: { rope_type } } }] });

async function readLengths(prompts, { plan = planOf("full_attention", "default"), batchSize = 8, options = {} } = {}) {
  const notes = [];
  const settings = { batchSize, options, plan, newSession: () => new NotingSession(notes) };
  const counts = prompts.map(() => 0);
  for await (const { index } of generateMany(
    prompts.map((prompt) => Int32Array.from(prompt)),
    settings,
  ))
    counts[index]++;
  assert.deepEqual(counts, Array(prompts.length).fill(2));
  return notes;
}

const beginning = Array.from({ length: 40 }, (_, i) => i);
const questions = [1, 2, 3, 4].map((count) => [...beginning, ...Array(count).fill(500 + count)]);

test("a beginning that another text has is not read again", async () => {
  assert.deepEqual(await readLengths(questions), [41, 2, 3, 4]);
  assert.deepEqual(await readLengths([questions[3], beginning, questions[3], beginning]), [44]);
  assert.deepEqual(await readLengths(questions, { plan: planOf("moe", "yarn") }), [41, 2, 3, 4]);
});

test("of a text that has ended nothing is left", async () => {
  assert.deepEqual(await readLengths(questions, { batchSize: 1 }), [41, 42, 43, 44]);
});

test("short beginnings are read again", async () => {
  const short = questions.map((prompt) => prompt.slice(15));
  assert.deepEqual(await readLengths(short), [26, 27, 28, 29]);
});

test("each text is read whole where its parts would be other numbers, unless the prompts are equal", async () => {
  for (const more of [
    { plan: planOf("mamba2", undefined) },
    { plan: planOf("full_attention", "dynamic") },
    { plan: planOf("full_attention", "longrope") },
    { options: { whenFull: "extend" } },
  ]) {
    assert.deepEqual(await readLengths(questions, more), [41, 42, 43, 44]);
    assert.deepEqual(await readLengths([questions[0], questions[0]], more), [41]);
  }
});
