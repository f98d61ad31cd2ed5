// The small model as a page gets it: files, so that nothing is asked for that is not there.
const FILES = ["config.json", "model.safetensors", "tokenizer.json"];

/**
 * @param variant - "" as it was trained, "yarn/" fine-tuned.
 * @returns what `rw.model()` takes.
 */
export function fetchSmallModel(variant = "", signal = undefined) {
  return Promise.all(FILES.map((name) => fileAt(new URL(`${variant}${name}`, import.meta.url), name, signal)));
}

async function fileAt(url, name, signal) {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new Error(`${url.pathname}: the server answered ${answer.status}`);
  return new File([await answer.blob()], name);
}
