// Runs the tiny models (tests/golden/tiny_models) and compares them with transformers and llama.cpp.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { largestDifference, readExpected, tinyModel } from "./models.mjs";

const F32_CACHE = { kv: { dtype: "f32" }, contextLength: 256 };

/** Names of all tiny models. */
export const tinyModelNames = () => readdirSync(tinyModel("")).filter((name) => has(name, "expected.json"));

export const has = (name, file) => existsSync(tinyModel(`${name}/${file}`));

/** Files of a tiny model: "" for its safetensors files, which need the whole folder. */
export const filesOf = (name) => ["", "model.gguf"].filter((file) => has(name, file || "model.safetensors"));

/** Whether the reference rounds the inputs of products to bytes, as weights of less than 16 bits need. */
export const isRounded = (expected) => expected.rounded_step_logits !== undefined;

/** The GGUF files of these models lack a window that their safetensors files have. */
export const lacksWindowInGguf = (name) => name === "mistral";

export async function withTinyModel(rw, path, use) {
  const model = await rw.model(tinyModel(path), F32_CACHE);
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}

/** Logits after the prompt and after each step. */
export async function logitsOf(model, { prompt, steps }) {
  const session = model.session();
  await session.append(prompt);
  const logits = [session.logits()];
  for (const token of steps) {
    await session.append([token]);
    logits.push(session.logits());
  }
  session.dispose();
  return logits;
}

/** Logits of the reference after the prompt and after each step: transformers in f64, or llama.cpp, which has fewer steps. */
export function referenceLogits(expected) {
  const prompt = expected.rounded_prompt_logits ?? expected.prompt_logits;
  const steps = expected.rounded_step_logits ?? expected.step_logits;
  return [[prompt].flat(2).slice(-steps[0].length), ...steps];
}

/** Largest differences of a file's logits from transformers' and from llama.cpp's; undefined where there is no reference. */
export async function differencesOf(rw, name, file) {
  const expected = readExpected(name, "expected.json");
  const logits = await withTinyModel(rw, `${name}/${file}`, (model) => logitsOf(model, expected));
  const from = (reference) => largestDifference(logits.slice(0, reference.length), reference);
  const theirs = file !== "" && has(name, "expected_llama_cpp.json") && readExpected(name, "expected_llama_cpp.json");
  return {
    transformers: file !== "" && lacksWindowInGguf(name) ? undefined : from(referenceLogits(expected)),
    llamaCpp: theirs ? from(referenceLogits(theirs)) : undefined,
  };
}

/** `model_type` of a tiny model; undefined for one that is only GGUF. */
export function modelTypeOf(name) {
  return has(name, "config.json")
    ? JSON.parse(readFileSync(tinyModel(`${name}/config.json`), "utf8")).model_type
    : undefined;
}

/** Names of the tiny models that embed or rank. */
export const tinyEncoderNames = () =>
  readdirSync(tinyModel("")).filter((name) => has(name, "expected_embeddings.json"));

/** As differencesOf(), of the vectors that a model makes of texts, or of its scores of pairs. */
export async function embeddingDifferencesOf(rw, name, file) {
  const expected = readExpected(name, "expected_embeddings.json");
  return withTinyEncoder(rw, `${name}/${file}`, async (model) => {
    if (expected.logits !== undefined) {
      const scores = (await model.rank(expected.query, expected.documents)).map(({ index, score }) => [score, index]);
      const reference = scores.map(([, index]) => 1 / (1 + Math.exp(-expected.logits[index])));
      return { transformers: largestDifference([scores.map(([score]) => score)], [reference]), llamaCpp: undefined };
    }
    const hasDense = expected.vectors_default?.[0] !== undefined && name === "gemma_embedding";
    const ours = hasDense
      ? await model.embed(expected.sentences, { normalize: true, prompt: file === "" ? undefined : null })
      : await model.embed(expected.texts, { pooling: "mean", normalize: false });
    const reference = hasDense ? expected.vectors_default : expected.mean;
    const isComparable = !hasDense || file === ""; // GGUF files have no prompts
    const theirs = file !== "" && has(name, "expected_llama_cpp_embeddings.json");
    const { tokens, vectors } = theirs ? readExpected(name, "expected_llama_cpp_embeddings.json") : {};
    return {
      transformers: isComparable ? largestDifference(ours, reference) : undefined,
      llamaCpp: theirs ? largestDifference(await model.embed(tokens, { normalize: false }), vectors) : undefined,
    };
  });
}

async function withTinyEncoder(rw, path, use) {
  const model = await rw.model(tinyModel(path), { contextLength: 90 });
  try {
    return await use(model);
  } finally {
    model.dispose();
  }
}
