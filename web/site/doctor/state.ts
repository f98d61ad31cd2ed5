// What the page shows is in its address, so that it can be linked: a bundled model, an address, or the text of a config.json after #.

/** What is diagnosed. Files of the reader have only a name in a link. */
export type Given =
  | { readonly kind: "example"; readonly id: string }
  | { readonly kind: "address"; readonly address: string }
  /** Without a name if it was pasted. */
  | { readonly kind: "text"; readonly text: string; readonly name?: string }
  | { readonly kind: "files"; readonly files: readonly File[] }
  | { readonly kind: "lost"; readonly name: string };

const PREFIX = "doctor.";
const TEXT = "#config=";

/** Longer addresses are cut by programs that people send links with. */
const MAX_CHARACTERS = 8000;

/** Fills number inputs from the page's address. */
export function readNumbers(inputs: readonly HTMLInputElement[]): void {
  const parameters = new URLSearchParams(location.search);
  for (const input of inputs) input.value = parameters.get(PREFIX + input.name) ?? input.value;
}

/** What the page's address names; undefined if it names nothing, or an example that isn't there. */
export function readGiven(examples: readonly string[]): Given | undefined {
  const parameters = new URLSearchParams(location.search);
  const [example, address, name] = ["example", "address", "file"].map((key) => parameters.get(PREFIX + key));
  if (location.hash.startsWith(TEXT)) {
    const text = decodeText(location.hash.slice(TEXT.length));
    return text === undefined
      ? undefined
      : { kind: "text", text, ...(name !== null && name !== undefined && { name }) };
  }
  if (address) return { kind: "address", address };
  if (name) return { kind: "lost", name };
  return example && examples.includes(example) ? { kind: "example", id: example } : undefined;
}

/** Writes the page's address, without what its HTML has. Returns whether a link to it shows the same report. */
export function writeState(given: Given, first: string, inputs: readonly HTMLInputElement[]): boolean {
  const url = new URL(location.href);
  const put = (key: string, value: string | undefined): void => {
    if (value === undefined) url.searchParams.delete(PREFIX + key);
    else url.searchParams.set(PREFIX + key, value);
  };
  put("example", given.kind === "example" && given.id !== first ? given.id : undefined);
  put("address", given.kind === "address" ? given.address : undefined);
  put("file", nameOf(given));
  for (const { name, value, defaultValue } of inputs) put(name, value === defaultValue ? undefined : value);
  const hash = given.kind === "text" ? TEXT + encodeURIComponent(shortened(given.text)) : "";
  const fits = hash.length <= MAX_CHARACTERS;
  url.hash = fits ? hash : "";
  if (url.href !== location.href) history.replaceState(history.state, "", url);
  return fits && given.kind !== "files" && given.kind !== "lost";
}

function nameOf(given: Given): string | undefined {
  if (given.kind === "files") return given.files.map(({ name }) => name).join(", ");
  return given.kind === "text" || given.kind === "lost" ? given.name : undefined;
}

/** JSON without spaces. */
function shortened(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function decodeText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // the link was cut
  }
}
