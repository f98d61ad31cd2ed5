// Recognizes weights that other systems have quantized: each becomes one tensor in a format of ggml.
import * as advise from "../../../core/base/advice.js";
import type { Advised } from "../../../core/base/advice.js";
import { type Dict, isDict } from "../../../core/base/dict.js";
import { show } from "../../../core/base/show.js";
import { named, unsupportedModel } from "../errors.js";
import { refuseDtype } from "../safetensors/header.js";
import type { OpenedTensors, PackedTensor, StoredTensor } from "../stored_tensor.js";
import { awq, compressedInt4, gptq, mlx } from "./int4_layouts.js";
import { fp8 } from "./fp8_layouts.js";
import { mxfp4 } from "./mxfp4.js";
import type { Packed } from "./packed.js";

/** How weights are packed: the ends of their main tensors' names, whose first letter separates all ends, and what makes a weight of one. */
interface Layout {
  readonly suffix: string;
  readonly dtype: string;
  readonly unpack: (packed: Packed) => StoredTensor;
}

const FP8: Layout = { suffix: ".weight", dtype: "F8_E4M3", unpack: fp8 };
const INT4: Layout = { suffix: ".weight_packed", dtype: "I32", unpack: compressedInt4 };

/** Layouts by quantization_config.quant_method, and `mlx` for the key `quantization` that MLX writes. */
const PACKED_LAYOUTS: Readonly<Record<string, readonly Layout[]>> = {
  "compressed-tensors": [INT4, FP8],
  gptq: [{ suffix: ".qweight", dtype: "I32", unpack: gptq }],
  awq: [{ suffix: ".qweight", dtype: "I32", unpack: awq }],
  mlx: [{ suffix: ".weight", dtype: "U32", unpack: mlx }],
  fp8: [FP8],
  mxfp4: [{ suffix: "_blocks", dtype: "U8", unpack: mxfp4 }],
};

/** Parts that change nothing: the shape of a weight, and scales of its inputs, which aren't quantized here. */
const IGNORED_PARTS = ["weight_shape", "input_scale", "activation_scale"];

/**
 * Replaces the parts of quantized weights by the weights. There must be a part.
 *
 * @throws UNSUPPORTED_MODEL naming a layout that isn't read, or a tensor of integers that belongs to no weight
 * @internal
 */
export function unpackWeights(opened: OpenedTensors, config: Dict): OpenedTensors {
  const packed = new Map(opened.packed);
  const [first] = packed.values() as unknown as [PackedTensor];
  const fileOf = (tensor: PackedTensor): string => opened.files[tensor.file]!.name;
  const { method, settings } = methodOf(config);
  if (method === undefined) refuseDtype(fileOf(first), first.name, first.dtype);
  const layouts = Object.hasOwn(PACKED_LAYOUTS, method) ? PACKED_LAYOUTS[method]! : [];
  if (layouts.length === 0)
    unsupportedModel(
      "config.json",
      "quantization_config",
      `quantized weights of ${named(method)} can't be read, only those of ${Object.keys(PACKED_LAYOUTS).join(", ")}`,
      advise.either(advise.load({ option: "quantize" }), advise.other("use a GGUF file")),
    );
  const tensors = new Map(opened.tensors);
  for (const main of opened.packed!.values()) {
    const layout = layouts.find(({ suffix, dtype }) => main.name.endsWith(suffix) && main.dtype === dtype);
    if (layout === undefined) continue;
    const stem = main.name.slice(0, -layout.suffix.length);
    const refuse = (problem: string, advised?: Advised): never =>
      unsupportedModel(fileOf(main), main.name, problem, advised);
    const fullName = (name: string): string => `${stem}${layout.suffix[0]}${name}`;
    const part = (name: string): PackedTensor | StoredTensor | undefined => {
      const full = fullName(name);
      const found = packed.get(full) ?? tensors.get(full);
      packed.delete(full);
      tensors.delete(full);
      return found;
    };
    const needed = (name: string): PackedTensor | StoredTensor =>
      part(name) ?? refuse(`needs the tensor ${named(fullName(name))}, which is missing`);
    const floats = (name: string): StoredTensor => {
      const found = needed(name);
      return "format" in found
        ? found
        : refuse(`${named(found.name)} must be in F32, F16 or BF16 (got ${found.dtype})`);
    };
    packed.delete(main.name);
    for (const name of IGNORED_PARTS) part(name);
    const weight = layout.unpack({ main, stem, settings, part, needed, floats, refuse });
    tensors.set(weight.name, weight);
  }
  for (const left of packed.values()) refuseDtype(fileOf(left), left.name, left.dtype);
  return { files: opened.files, tensors };
}

/** The method that config.json names, and its settings. */
function methodOf(config: Dict): { method: string | undefined; settings: Dict } {
  const text = isDict(config["text_config"]) ? config["text_config"] : {};
  const settings = [config, text].flatMap((part) =>
    ["quantization_config", "compression_config"].map((key) => part[key]).filter(isDict),
  )[0];
  const isMlx = isDict(config["quantization"]) && (settings === undefined || settings["quant_method"] === undefined);
  if (isMlx) return { method: "mlx", settings: config["quantization"] as Dict };
  if (settings === undefined) return { method: undefined, settings: {} };
  const { quant_method } = settings as { quant_method?: unknown };
  return { method: typeof quant_method === "string" ? quant_method : show(quant_method), settings };
}
