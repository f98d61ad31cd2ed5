// Tiny models whose weights are a formula of their names: tests/golden/generate/shapes/formula_models.py has the same one.
import { ggufBytes } from "./gguf_writer.mjs";
import { safetensorsBytes } from "./safetensors_writer.mjs";

/** An element is `center + k / 2 ** shift`, with k an odd number from -127 to 127 that depends on the name and the index. */
function elements(name, count, center, shift) {
  let seed = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) seed = Math.imul(seed ^ byte, 0x01000193);
  return Float32Array.from({ length: count }, (_, index) => {
    let x = (seed + Math.imul(index, 0x9e3779b1)) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    return center + (((x ^ (x >>> 16)) >>> 25) * 2 - 127) / 2 ** shift;
  });
}

/** The names that `layers.{0,1}.weight` stands for. */
function namesOf(pattern) {
  const [whole, list] = /\{([^}]*)\}/.exec(pattern) ?? [];
  return whole === undefined ? [pattern] : list.split(",").flatMap((index) => namesOf(pattern.replace(whole, index)));
}

function tensorsOf(tensors) {
  return Object.entries(tensors).flatMap(([pattern, [shape, center, shift]]) =>
    namesOf(pattern).map((name) => {
      const values = elements(
        name,
        shape.reduce((product, extent) => product * extent, 1),
        center,
        shift,
      );
      return { name, shape, data: new Uint8Array(values.buffer) };
    }),
  );
}

/** The files of a model in transformers format, as `rw.model()` takes them. */
export function formulaFiles({ config, tensors }, others = []) {
  const weights = tensorsOf(tensors).map(({ name, shape, data }) => [name, { dtype: "F32", shape, data }]);
  return [
    new File([JSON.stringify(config)], "config.json"),
    new File([safetensorsBytes(Object.fromEntries(weights))], "model.safetensors"),
    ...others,
  ];
}

/** A GGUF file. */
export function formulaGguf({ metadata, tensors }) {
  const weights = tensorsOf(tensors).map((tensor) => ({ ...tensor, type: "f32" }));
  return new File([ggufBytes({ metadata, tensors: weights })], "model.gguf");
}
