// What each app does: rotates a vector with the main entry, and generates a text with a model in a Worker.
import { load } from "ropewalk";
import { load as loadInWorker } from "ropewalk/worker";

/** The worked example of tests/browser/pages/worked_example.mjs. */
export async function rotate() {
  const rw = await load({ build: "simd" });
  const rope = rw.rope({ head_dim: 4, rope_theta: 10000, pairing: "half" });
  const rotated = rope.rotate(Float32Array.of(1, 2, 3, 4), { layout: "thd", shape: [1, 1, 4], positions: 1 });
  return Array.from(rotated, (value) => value.toFixed(6)).join(" ");
}

/** @param model - its address, or its path where there are files. */
export async function generate(model) {
  const rw = await loadInWorker({ build: "simd" });
  const session = await rw.model(model);
  let text = "";
  for await (const piece of session.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true }))
    text += piece.text;
  await rw.dispose();
  return text;
}

/** Both results as JSON. An error is a result, too. */
export async function useRopewalk(model) {
  const [rotated, text] = await Promise.all([rotate().catch(String), generate(model).catch(String)]);
  return JSON.stringify({ rotated, text });
}

/** Shows both results in a page, whose address names the model. */
export async function showRopewalk() {
  const results = await useRopewalk(new URL(location.href).searchParams.get("model"));
  document.querySelector("output").textContent = results;
}
