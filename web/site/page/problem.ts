// Errors of the package as sentences for the readers of a page, with what to do.
import type { RopewalkError } from "ropewalk";

/** By the part of a file that an error is about. `reason` is the rest of the error's message. */
const SENTENCES: Readonly<Record<string, (file: string, reason: string) => string>> = {
  JSON: (file, reason) =>
    `${file} isn't a config.json: ${reason.replace(/^is not JSON: /, "it can't be read as JSON (") + (reason.startsWith("is not JSON") ? ")" : "")}. Take the whole file, from { to }.`,
  magic: (file) =>
    file.endsWith(".gguf")
      ? `${file} doesn't begin with GGUF, as such a file does. The download may be broken, or another file has this name.`
      : `${file} isn't a model file. Files that can be read are config.json, .gguf and .safetensors.`,
  files: () => "There is no model in this folder: no config.json, and no .gguf or .safetensors file.",
};

const MISSING_CONFIG = "A .safetensors file needs the config.json of its folder. Choose both files, or the folder.";

/** For a reader who wrote something else than an address. */
export const NOT_ADDRESS =
  "This isn't an address. It begins with https:// or http://, and that of a folder ends in /. A model on Hugging Face can be named as owner/name.";

/** What went wrong, and what to do. `shownAs` is for what the reader didn't give as a file. */
export function problemText(error: unknown, shownAs?: string): string {
  const { code, field = "", message } = error as Error & Partial<RopewalkError>;
  const reason = field !== "" && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
  const [, name = "The file", part = field] = /^(.*): (\S+)$/.exec(field) ?? [];
  const file = shownAs ?? name;
  if (code === "NETWORK") return networkText(reason);
  if (code === "INVALID_ARGUMENT" && field === "source") return NOT_ADDRESS;
  if (code !== "INVALID_FILE") return sentence(message);
  if (part === "file" && reason.startsWith("is not among")) return MISSING_CONFIG;
  return (SENTENCES[part] ?? ((file, reason) => sentence(`${file} is damaged (${part}: ${reason})`)))(file, reason);
}

function networkText(reason: string): string {
  const [, address = "", cause = reason] = /^(https?:\S+): (.*)$/.exec(reason) ?? [];
  if (cause.includes("cannot reach the server"))
    return `There is no answer from ${address}. You may be offline, or that server doesn't let other sites read its files. Download the file and open it here.`;
  if (cause.includes("status 404") || cause.includes("HTML page"))
    return `There is no model file at ${address}. Take the address of the file itself, or of the folder that has config.json, ending in /.`;
  if (/status 40[13]/.test(cause))
    return `${address} isn't public: the server asks for a login. Download the file there and open it here.`;
  return sentence(`Nothing could be read from ${address}: ${cause}`);
}

const sentence = (text: string): string => text.replace(/[.;]?$/, ".");
