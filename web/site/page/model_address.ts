/** The address of a model's files for what a reader copied: the name of a model on Hugging Face, its page there, or any address. */
export function modelAddress(given: string): string {
  const address = withScheme(given.trim());
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (!/^(www\.)?(huggingface\.co|hf\.co)$/.test(url.hostname)) return address;
  const [owner, name, view, revision = "main", ...path] = url.pathname.split("/").filter(Boolean);
  if (owner === undefined || name === undefined || owner === "datasets" || owner === "spaces") return address;
  if (view !== undefined && !["tree", "blob", "resolve"].includes(view)) return address;
  const isFolder = view !== "blob" && !(view === "resolve" && path.length > 0 && !url.pathname.endsWith("/"));
  return `https://huggingface.co/${[owner, name, "resolve", revision, ...path].join("/")}${isFolder ? "/" : ""}`;
}

/** A name such as Qwen/Qwen2.5-7B-Instruct, or an address as browsers show it, as a whole address. */
function withScheme(given: string): string {
  if (/^(www\.)?(huggingface\.co|hf\.co)\//.test(given)) return `https://${given}`;
  const isName = /^[\w-][\w.-]*\/[\w-][\w.-]*$/.test(given) && !/\.(gguf|json|safetensors)$/.test(given);
  return isName ? `https://huggingface.co/${given}` : given;
}

/** The name of a model on the Hub, if a reader gave one or copied the address of its page; undefined for other addresses. */
export function modelName(given: string): string | undefined {
  const text = given.trim().replace(/^(https?:\/\/)?(www\.)?(huggingface\.co|hf\.co)\/(?=[^/]+\/[^/]+\/?$)/, "");
  const name = text === given.trim() ? text : text.replace(/\/$/, "");
  const isName = /^[\w-][\w.-]*\/[\w-][\w.-]*(:[\w.-]+)?(@[\w./-]+)?$/.test(name);
  return isName && !/^(datasets|spaces)\/|\.(gguf|json|safetensors)$/.test(name) ? name : undefined;
}
