// Chooses which file of a repository to run. Does no I/O.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { fieldOf, unsupportedModel } from "../errors.js";
import type { HubName } from "./name.js";
import type { HubFile } from "./repository.js";

/** A model in a repository: a file, or the first of several. @internal */
export interface Candidate {
  readonly path: string;
  /** Its quantization, such as `Q4_K_M`; `safetensors`; or `""` for a GGUF file whose name has none. */
  readonly label: string;
  /** Bytes of all its files; undefined if the Hub doesn't say. */
  readonly size: number | undefined;
}

/** A chosen model, and why it was chosen. @internal */
export interface Choice extends Candidate {
  readonly reason: string;
}

/**
 * The first of these that fits is taken. Four bits first: the smallest with little loss, and the fewest bytes per token. Then what loses less,
 * then what is smaller. Files without a quantization in their name come last.
 */
const ORDER = [
  ...["Q4_K_M", "Q4_K_L", "Q4_K_XL", "Q4_K_S", "Q4_K", "Q4_0", "Q4_1", "MXFP4", "MXFP4_MOE", "NVFP4"],
  ...["Q5_K_M", "Q5_K_L", "Q5_K_XL", "Q5_K_S", "Q5_K", "Q5_0", "Q5_1", "Q6_K", "Q6_K_L", "Q6_K_XL"],
  ...["Q8_0", "Q8_K_XL", "safetensors", "BF16", "F16", "FP16", "F32", "FP32"],
  ...["IQ4_NL", "IQ4_XS", "Q3_K_XL", "Q3_K_L", "Q3_K_M", "Q3_K_S", "Q3_K", "IQ3_M", "IQ3_S", "IQ3_XS", "IQ3_XXS"],
  ...["Q2_K_XL", "Q2_K_L", "Q2_K", "Q2_K_S", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS"],
  ...["TQ2_0", "TQ1_0", "Q2_0", "Q1_0", "IQ1_M", "IQ1_S"],
];

const LABEL = new RegExp(
  `(?<![A-Za-z0-9])(${[...ORDER]
    .filter((label) => label !== "safetensors")
    .sort((a, b) => b.length - a.length)
    .join("|")})(?![A-Za-z0-9])`,
  "gi",
);
const PART = /-(\d{5})-of-(\d{5})\.gguf$/;
const INDEX = "model.safetensors.index.json";

/** Files for other purposes: projectors of vision models, statistics of quantizing, adapters. */
const NO_MODEL = /(^|[-._])(mmproj|imatrix|lora|adapter)([-._]|$)/i;

/** Chooses the file to run. `memory` is how many bytes weights may take. @throws INVALID_ARGUMENT, UNSUPPORTED_MODEL @internal */
export function chooseModel(name: HubName, files: readonly HubFile[], memory: number): Choice {
  const { repository, file, quantization } = name;
  const candidates = candidatesOf(files).sort((a, b) => rankOf(a) - rankOf(b) || byPath(a, b));
  const listed = candidates.map(({ path }) => path);
  if (file !== undefined) {
    const named = candidates.find(({ path }) => path === file) ?? files.find(({ path }) => path === file);
    if (named !== undefined) return { label: "", size: undefined, ...named, reason: "named by its path" };
    const other = listed.length === 0 ? "" : `; it has ${shown(listed)}`;
    return fail("INVALID_ARGUMENT", "source", `${repository} has no file ${file} at ${name.revision}${other}`);
  }
  if (candidates.length === 0) return refuse(repository, files);
  if (quantization !== undefined) {
    const wanted = quantization.toLowerCase();
    const found =
      candidates.find(({ label }) => label.toLowerCase() === wanted) ??
      candidates.find(({ path }) => `-${path.toLowerCase()}-`.split(/[^a-z0-9_]+/).includes(wanted)) ??
      candidates.find(({ path }) => path.toLowerCase().includes(`-${wanted}.`));
    if (found !== undefined) return { ...found, reason: "the quantization that was asked for" };
    const labels = [...new Set(candidates.map(({ label, path }) => label || path))];
    return fail(
      "INVALID_ARGUMENT",
      "source",
      `${repository} has no quantization ${quantization}; it has ${shown(labels)}`,
    );
  }
  const [only] = candidates;
  if (candidates.length === 1) return { ...only!, reason: "the only model in the repository" };
  const best = candidates.find(({ size }) => size === undefined || size <= memory);
  if (best !== undefined) return { ...best, reason: `the first that fits of ${candidates.length}` };
  const [smallest] = [...candidates].sort((a, b) => a.size! - b.size!);
  return { ...smallest!, reason: `the smallest of ${candidates.length}, none of which fits well` };
}

/** Chooses the adapter (LoRA) of a repository. @throws INVALID_ARGUMENT, UNSUPPORTED_MODEL @internal */
export function chooseAdapter(
  { repository, file, quantization, revision }: HubName,
  files: readonly HubFile[],
): Choice {
  const isAdapter = ({ path }: HubFile): boolean => /(^|\/)adapter_model\.safetensors$|\.gguf$/i.test(path);
  const found = files.filter(isAdapter).sort((a, b) => a.path.length - b.path.length || (a.path < b.path ? -1 : 1));
  const paths = found.map(({ path }) => path);
  if (quantization !== undefined)
    fail(
      "INVALID_ARGUMENT",
      "source",
      `an adapter has no quantization (got ${quantization}); ${repository} has ${shown(paths)}`,
    );
  if (file !== undefined) {
    const named = files.find(({ path }) => path === file);
    if (named !== undefined) return { label: "", path: file, size: named.size, reason: "named by its path" };
    return fail(
      "INVALID_ARGUMENT",
      "source",
      `${repository} has no file ${file} at ${revision}; it has ${shown(paths)}`,
    );
  }
  const peft = found.find(({ path }) => path === "adapter_model.safetensors");
  const [first] = found;
  if (first === undefined)
    return fail(
      "UNSUPPORTED_MODEL",
      fieldOf(repository, "files"),
      "has no adapter: neither adapter_model.safetensors nor a GGUF file",
    );
  if (peft === undefined && found.length > 1)
    return fail(
      "INVALID_ARGUMENT",
      "source",
      `${repository} has several adapters`,
      advise.other(`name one of ${shown(paths)}`),
    );
  const { path, size } = peft ?? first;
  return { label: "", path, size, reason: "the adapter in the repository" };
}

/** The models among the files. A model in parts counts once. */
function candidatesOf(files: readonly HubFile[]): Candidate[] {
  const ggufs = files.filter(
    ({ path }) => /\.gguf$/i.test(path) && !NO_MODEL.test(path.slice(path.lastIndexOf("/") + 1)),
  );
  const found = ggufs.flatMap(({ path, size }): Candidate[] => {
    const [ending, part, parts] = PART.exec(path) ?? [];
    if (ending === undefined) return [{ path, label: labelOf(path), size }];
    if (Number(part) !== 1) return [];
    const stem = path.slice(0, -ending.length);
    const all = ggufs.filter((file) => file.path.startsWith(stem) && file.path.endsWith(`-of-${parts}.gguf`));
    return [{ path, label: labelOf(path), size: sumOf(all) }];
  });
  const single = files.find(({ path }) => path === "model.safetensors");
  if (single !== undefined) return [...found, { ...single, label: "safetensors", size: single.size }];
  if (!files.some(({ path }) => path === INDEX)) return found;
  const parts = files.filter(({ path }) => /^model-\d+-of-\d+\.safetensors$/.test(path));
  return [...found, { path: INDEX, label: "safetensors", size: sumOf(parts) }];
}

function sumOf(files: readonly HubFile[]): number | undefined {
  return files.every(({ size }) => size !== undefined) ? files.reduce((sum, { size }) => sum + size!, 0) : undefined;
}

/** The quantization in a file's name, or in that of its folder. */
function labelOf(path: string): string {
  return [...path.matchAll(LABEL)].at(-1)?.[1]?.toUpperCase() ?? "";
}

function rankOf({ label }: Candidate): number {
  const rank = ORDER.indexOf(label);
  return rank < 0 ? ORDER.length : rank;
}

/** Of two files alike, the one with the shorter path. */
function byPath({ path: a }: Candidate, { path: b }: Candidate): number {
  return a.length - b.length || (a < b ? -1 : 1);
}

function shown(names: readonly string[]): string {
  const most = 20;
  return names.length <= most ? names.join(", ") : `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

function refuse(repository: string, files: readonly HubFile[]): never {
  const others = files
    .map(({ path }) => path)
    .filter((path) => /\.(bin|pth?|onnx|h5|msgpack|safetensors|tflite|mlmodel|npz|ckpt)$/i.test(path));
  if (others.some((path) => /(^|\/)adapter_model\./.test(path)))
    unsupportedModel(repository, "files", "is an adapter (LoRA) and no whole model", advise.adapter());
  const has = others.length === 0 ? "" : `, only ${shown(others.slice(0, 5))}`;
  fail(
    "UNSUPPORTED_MODEL",
    fieldOf(repository, "files"),
    `has no GGUF file, and no model.safetensors${has}`,
    advise.other(
      "look for the model in one of these formats, or load it with transformers and save it, which writes model.safetensors",
    ),
  );
}
