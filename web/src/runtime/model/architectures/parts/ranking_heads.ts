// Heads of cross-encoders: the layers after pooling that give a score.
import { named } from "../../../files/errors.js";
import type { ConfigReader } from "../../config/config_reader.js";
import type { ActivationName, DenseLayer, RankingHead } from "./architecture.js";
import { hiddenActivation } from "./common.js";

/** Linear layers with an activation after the first, as classifiers of transformers have them. @internal */
export function labelHead(
  reader: ConfigReader,
  stems: readonly [string, string],
  activation: ActivationName,
): RankingHead | undefined {
  if (!stems.every((stem) => reader.hasTensor(`${stem}.weight`))) return undefined;
  const [inner, out] = stems.map((stem) => dense(reader, stem)) as [DenseLayer, DenseLayer];
  return { pooling: "first", layers: [{ ...inner, activation }, out] };
}

function dense(reader: ConfigReader, stem: string): DenseLayer {
  const [weight, bias] = [`${stem}.weight`, `${stem}.bias`];
  return { weight, size: reader.rowsOfTensor(weight), ...(reader.hasTensor(bias) && { bias }) };
}

/** @internal */
export function modernBertHead(reader: ConfigReader): RankingHead | undefined {
  if (reader.isGguf) return ggufHead(reader, "gelu");
  const activation = hiddenActivation("gelu", "gelu", ["classifier_activation"])(reader);
  const head = labelHead(reader, ["head.dense", "classifier"], activation);
  if (head === undefined) return undefined;
  const [inner, out] = head.layers as [DenseLayer, DenseLayer];
  const isMean = reader.find(["classifier_pooling", ""]).value === "mean";
  return { pooling: isMean ? "mean" : "first", layers: [{ ...inner, norm: "head.norm" }, out] };
}

/** The mean, as GGUF numbers poolings. */
const MEAN = 1;

/** The activation that a GGUF file names for the head of a cross-encoder. */
function ggufActivation(reader: ConfigReader, otherwise: ActivationName): ActivationName {
  const { value = otherwise, path } = reader.find(["", "classifier.activation"]);
  const names: readonly unknown[] = ["gelu", "silu", "tanh"] satisfies ActivationName[];
  if (!names.includes(value))
    reader.refuse("UNSUPPORTED_MODEL", path, `activation ${named(String(value))} is not supported`);
  return value as ActivationName;
}

/** The head of a GGUF file, whose first layer has `activation` unless the file names another. @internal */
export function ggufHead(reader: ConfigReader, activation: ActivationName): RankingHead | undefined {
  const out = "cls.output";
  if (!reader.hasTensor(`${out}.weight`)) return undefined;
  const inner = reader.hasTensor("cls.weight")
    ? [{ ...dense(reader, "cls"), activation: ggufActivation(reader, activation) }]
    : [];
  const norm = reader.hasTensor("cls.norm.weight") ? { norm: "cls.norm" } : {};
  // llama.cpp takes the mean where the file says so and, without the key, for ModernBERT, and the first token otherwise
  const kind = reader.integer(["", "classifier.pooling_type"], reader.architecture === "modern-bert" ? MEAN : 0, 0);
  const pooling = kind === MEAN ? "mean" : "first";
  return { pooling, layers: [...inner.map((layer) => ({ ...layer, ...norm })), dense(reader, out)] };
}
