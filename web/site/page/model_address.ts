/** The address of a model's files for one that a reader copied: a page on Hugging Face has them under resolve/. */
export function modelAddress(given: string): string {
  const address = given.trim();
  if (!URL.canParse(address)) return address;
  const url = new URL(address);
  if (!/^(www\.)?(huggingface\.co|hf\.co)$/.test(url.hostname)) return address;
  const [owner, name, view, revision = "main", ...path] = url.pathname.split("/").filter(Boolean);
  if (owner === undefined || name === undefined || owner === "datasets" || owner === "spaces") return address;
  if (view !== undefined && !["tree", "blob", "resolve"].includes(view)) return address;
  const isFolder = view !== "blob" && !(view === "resolve" && path.length > 0 && !url.pathname.endsWith("/"));
  return `https://huggingface.co/${[owner, name, "resolve", revision, ...path].join("/")}${isFolder ? "/" : ""}`;
}
