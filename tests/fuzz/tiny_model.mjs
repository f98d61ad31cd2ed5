// A small model whose logits show whether earlier cases have damaged wasm memory.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const path = fileURLToPath(new URL("../golden/tiny_models/llama/model.gguf", import.meta.url));
const TOKENS = [5, 9, 2, 14, 3];

export const modelBytes = () => readFile(path);

/** The logits of a freshly loaded model. */
export async function freshLogits(rw) {
  const model = await rw.model(path);
  try {
    const session = model.session();
    await session.append(TOKENS);
    return session.logits();
  } finally {
    model.dispose();
  }
}

/** Throws if a freshly loaded model has other logits than before, bit for bit. */
export async function checkLogits(rw, before) {
  assert.deepEqual(
    Buffer.from((await freshLogits(rw)).buffer),
    Buffer.from(before.buffer),
    "logits of the next good model",
  );
}
