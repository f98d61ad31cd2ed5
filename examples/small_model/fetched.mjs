// Fetches the small model for a page, as File objects, so that the loader requests no files that don't exist.
const FILES = ["config.json", "model.safetensors", "tokenizer.json"];

/**
 * @param variant - "" for the trained model, "yarn/" for the fine-tuned one.
 * @returns files for `rw.model()`.
 */
export function fetchSmallModel(variant = "", signal = undefined) {
  return Promise.all(FILES.map((name) => fileAt(new URL(`${variant}${name}`, import.meta.url), name, signal)));
}

async function fileAt(url, name, signal) {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${url.pathname}: the server answered ${answer.status}`);
  return new File([await answer.blob()], name);
}
