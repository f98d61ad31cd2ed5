// Adapters as llama.cpp's convert_lora_to_gguf.py writes them.
import { show } from "../../../core/base/show.js";
import type { AdapterFiles } from "../../files/adapter_files.js";
import { addPart, invalid, type LowRank, pairUp, type Parts, unsupported } from "./low_rank.js";

const TENSOR = /^(.+)\.lora_(a|b)$/;

/**
 * @throws {@link RopewalkError} INVALID_FILE, UNSUPPORTED_MODEL
 * @internal
 */
export function readGgufAdapter(files: AdapterFiles): LowRank[] {
  const { metadata, name } = files;
  const [general, type, alpha] = [metadata["general.type"], metadata["adapter.type"], metadata["adapter.lora.alpha"]];
  if (general !== "adapter")
    invalid(
      files,
      "general.type",
      `${general === undefined ? "is missing" : `must be "adapter" (got ${show(general)})`}: this file is no adapter`,
    );
  if (type !== "lora")
    unsupported(name, "adapter.type", `must be "lora", the only kind that is supported (got ${show(type)})`);
  if (metadata["adapter.alora.invocation_tokens"] !== undefined)
    unsupported(name, "adapter.alora.invocation_tokens", "adapters that a token activates (aLoRA) aren't supported");
  if (alpha !== undefined && !Number.isFinite(alpha))
    invalid(files, "adapter.lora.alpha", `must be a finite number (got ${show(alpha)})`);
  const parts: Parts = new Map();
  for (const tensor of files.tensors.values()) {
    const [, target, side] = TENSOR.exec(tensor.name) ?? [];
    if (target === undefined)
      return unsupported(name, tensor.name, "isn't a part of a LoRA adapter (.lora_a or .lora_b)");
    if (target === "token_embd.weight")
      return unsupported(name, tensor.name, "changes the embedding, which isn't supported");
    if (tensor.shape.length > 2)
      return unsupported(name, tensor.name, "changes all experts of a layer at once, which isn't supported");
    addPart(parts, target, side === "a" ? "a" : "b", tensor);
  }
  // as get_scale() in llama.cpp: without an alpha, B A is added as it is
  return pairUp(files, parts, { a: "lora_a", b: "lora_b" }, (_, rank) => (alpha ? Number(alpha) / rank : 1));
}
