// Which models embed texts and generate none: encoders, decoders whose config makes them read both ways, and files without an output layer.
import { show } from "../../../core/base/show.js";
import type { ModelFiles } from "../../files/model_files.js";
import type { Architecture, EncoderConfig } from "../architectures/parts/architecture.js";
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { textModelNames } from "../architectures/parts/multimodal_names.js";

const IS_CAUSAL: ConfigKey = ["is_causal", "attention.causal"];
const NO_CLASSIFIER = "the head of a classifier or cross-encoder, which this package runs for encoders only";

/**
 * What an encoder has; undefined for a decoder. A decoder whose config has `is_causal: false` is one: transformers 5 gives it the
 * mask of an encoder (masking_utils.py, create_causal_mask).
 * @throws {@link RopewalkError} UNSUPPORTED_MODEL.
 * @internal
 */
export function encoderOf(architecture: Architecture, reader: ConfigReader): EncoderConfig | undefined {
  const own = architecture.encoder?.(reader);
  if (own !== undefined || architecture.hasNoAttention || reader.boolean(IS_CAUSAL, true)) return own;
  const { recurrence, latent, perLayer, layer, temperature, hasSinks, window } = architecture;
  const others = { recurrence, latent, perLayer, layer, temperature, hasSinks };
  const isOther = Object.values(others).some((value) => value !== undefined);
  const hasWindows =
    reader.isGguf && window !== undefined && reader.integer(["", "attention.sliding_window"], 0, 0) > 0;
  if (isOther || hasWindows)
    reader.refuse(
      "UNSUPPORTED_MODEL",
      reader.find(IS_CAUSAL).path,
      `${reader.architecture} with attention in both directions is not supported`,
    );
  return {};
}

/** Sliding window of each layer; 0 for full attention. @internal */
export function windowsOf(architecture: Architecture, reader: ConfigReader): (layer: number) => number {
  const window = architecture.window?.(reader) ?? ((): number => 0);
  const isMadeEncoder = architecture.encoder?.(reader) === undefined && encoderOf(architecture, reader) !== undefined;
  // in both directions, transformers includes the distance of the window itself
  return isMadeEncoder ? (layer) => (window(layer) > 0 ? window(layer) + 1 : 0) : window;
}

/** Why a model generates no text, as the end of a sentence about it; undefined if it does. @internal */
export function whyNoText(files: ModelFiles, architecture: Architecture, reader: ConfigReader): string | undefined {
  if (architecture.encoder?.(reader) !== undefined) return "is an encoder, which generates no text";
  refuseClassifiers(files, architecture, reader);
  if (encoderOf(architecture, reader) !== undefined)
    return `has attention in both directions (${reader.find(IS_CAUSAL).path}: false), and generates no text`;
  return lacksHead(files, architecture, reader)
    ? `has no output layer (${architecture.names.head}.weight), as embedding models are saved, and generates no text`
    : undefined;
}

/** Whether files of a model with a head of its own were saved without it. */
function lacksHead(files: ModelFiles, { names }: Architecture, reader: ConfigReader): boolean {
  if (reader.isGguf || reader.source["tie_word_embeddings"] !== false) return false;
  const { nameOf } = textModelNames(files, `${names.embedding}.weight`, names);
  return !files.tensors.has(nameOf(`${names.head}.weight`)) && !classesOf(reader).some(isOfText);
}

const isOfText = (name: string): boolean => /(For(CausalLM|ConditionalGeneration)|LMHeadModel)$/.test(name);

function classesOf(reader: ConfigReader): string[] {
  return [reader.source["architectures"]].flat().filter((name) => typeof name === "string");
}

function refuseClassifiers(files: ModelFiles, { names }: Architecture, reader: ConfigReader): void {
  const head = "score.weight";
  if (reader.isGguf || names.others?.test(head) || !files.tensors.has(head)) return;
  const [name] = classesOf(reader);
  reader.refuse("UNSUPPORTED_MODEL", head, `is ${NO_CLASSIFIER}${name === undefined ? "" : ` (got ${show(name)})`}`);
}
