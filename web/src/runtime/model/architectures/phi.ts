// Phi.
import type { Architecture } from "./parts/architecture.js";
import { everyLayer, slidingWindows } from "./parts/sliding_windows.js";
import { llamaNames } from "./parts/tensor_names.js";
import { hiddenActivation, llama, QKV } from "./parts/common.js";

/** Phi-3 (and Phi-4), and Phi-2. @internal */
export const PHI_ROWS: readonly Architecture[] = [
  {
    ...llama,
    huggingFace: ["phi3"],
    gguf: ["phi3"],
    // llama.cpp leaves the window out, which its converter writes
    window: slidingWindows({ tokens: null, slides: everyLayer, ignoresTypes: true }, { slides: everyLayer }),
  },
  {
    ...llama,
    huggingFace: ["phi"],
    gguf: ["phi2"],
    rotatesEvenWidths: true,
    norm: "layer",
    activation: hiddenActivation("gelu_tanh"),
    isGated: false,
    norms: () => ["attention_norm"],
    isParallel: () => true,
    biases: () => [...QKV, "output", "up", "down"],
    names: llamaNames(
      { output: "self_attn.dense", up: "mlp.fc1", down: "mlp.fc2" },
      { final_norm: "model.final_layernorm" },
    ),
  },
];
