// Llama 4, text.
import type { ConfigKey, ConfigReader } from "../config/config_reader.js";
import { MAX_EXPERTS } from "../config/limits.js";
import { allButEvery, ggufSlides } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import type { Architecture, ExpertConfig, LayerShape } from "./parts/architecture.js";
import { LAYERS, llama } from "./parts/common.js";
import { readExperts, withRouting } from "./parts/experts.js";

/** llama.cpp has these numbers in its code. */
const GGUF_CHUNK = 8192;
const LARGE_EXPERTS = 128;
const LAYERS_PER_FULL = 4;

/** Llama 4: layers that see only their chunk, and layers without RoPE. @internal */
export const LLAMA4_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["llama4_text", "llama4"],
    gguf: ["llama4"],
    readsSlidingBase: true,
    layer: llama4Layer,
    temperature: "without_rope",
    experts: llama4Experts,
    expertLayout: "transposed",
    names: llamaNames({
      gate: "feed_forward.gate_proj",
      up: "feed_forward.up_proj",
      down: "feed_forward.down_proj",
      router: "feed_forward.router",
      expert_gate_up: "feed_forward.experts.gate_up_proj",
      expert_down: "feed_forward.experts.down_proj",
      shared_gate: "feed_forward.shared_expert.gate_proj",
      shared_up: "feed_forward.shared_expert.up_proj",
      shared_down: "feed_forward.shared_expert.down_proj",
    }),
  },
];

function llama4Layer(reader: ConfigReader): (layer: number) => LayerShape {
  const count = reader.integer(LAYERS);
  const rope = reader.list(["no_rope_layers", ""]); // 1 for a layer with RoPE
  const every = reader.integer(["no_rope_layer_interval", ""], LAYERS_PER_FULL);
  // a window of 0 in GGUF: no chunks, and RoPE in every layer
  const isFull = reader.isGguf && reader.find(["", "attention.sliding_window"]).value === 0;
  const hasRope = (layer: number): boolean =>
    isFull || (rope !== undefined && rope.length === count ? Boolean(rope[layer]) : (layer + 1) % every !== 0);
  const types = reader.list(["layer_types", ""]);
  const isChunked = reader.isGguf ? ggufSlides(reader, { slides: allButEvery(LAYERS_PER_FULL) }, true) : hasRope;
  const key: ConfigKey = ["attention_chunk_size", ""];
  const chunk = reader.isNull(key) ? 0 : reader.isGguf ? GGUF_CHUNK : reader.integer(key);
  const normalizes = reader.isGguf
    ? reader.integer(["", "expert_count"], 0, 0, MAX_EXPERTS) !== LARGE_EXPERTS
    : reader.boolean(["use_qk_norm", ""], true);
  return (layer) => ({
    chunk: !isFull && (types === undefined ? isChunked(layer) : types[layer] === "chunked_attention") ? chunk : 0,
    has_unit_heads: normalizes && hasRope(layer),
    feed_forward_size: reader.integer(["intermediate_size_mlp", "feed_forward_length"]),
  });
}

function llama4Experts(reader: ConfigReader): ExpertConfig {
  const listed = reader.list(["moe_layers", ""]);
  const step = reader.integer(["interleave_moe_layer_step", "interleave_moe_layer_step"], 1);
  const size = reader.integer(["intermediate_size", "expert_feed_forward_length"]);
  return withRouting(
    readExperts(reader, {
      experts: ["num_local_experts"],
      used: ["num_experts_per_tok"],
      size: ["intermediate_size"],
      normalizes: [false, false],
      hasExperts: (layer) => listed?.includes(layer) ?? (layer + 1) % step === 0,
      shared: () => size,
    }),
    { weight: "sigmoid", scales_input: true },
  );
}
