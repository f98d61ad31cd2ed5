// The comparison: onnxruntime-web's RotaryEmbedding on its CPU backend, with one thread.

const [HEADS, HEAD_DIM] = [32, 128];

/** The ONNX node, for examples/onnx_model.mjs. Its input is a tensor [batch, tokens, heads · head_dim]. */
export const ROTARY_NODE = {
  op: "RotaryEmbedding",
  domain: "com.microsoft",
  opset: 1,
  inputs: {
    X: ["float", "batch", "tokens", "width"],
    position_ids: ["int64", "one"],
    cos_cache: ["float", "rows", "pairs"],
    sin_cache: ["float", "rows", "pairs"],
  },
  outputs: { Y: ["float", "batch", "tokens", "width"] },
  attributes: { interleaved: 0, num_heads: HEADS },
};

/** Returns `(tokens) => Promise<(repeats) => Promise>`, which runs the model in a session of `ort`. */
export function onnxruntime(ort, model) {
  return async (tokens) => {
    const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
    const floats = (shape) =>
      new ort.Tensor("float32", new Float32Array(shape.reduce((a, b) => a * b)).fill(0.5), shape);
    const feeds = {
      X: floats([1, tokens, HEADS * HEAD_DIM]),
      position_ids: new ort.Tensor("int64", new BigInt64Array(1), [1]),
      cos_cache: floats([tokens, HEAD_DIM / 2]),
      sin_cache: floats([tokens, HEAD_DIM / 2]),
    };
    return async (repeats) => {
      for (let i = 0; i < repeats; i++) await session.run(feeds);
    };
  };
}
