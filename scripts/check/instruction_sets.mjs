// The rule of instruction sets: CMake knows the sources that depend on them.
import { includesOf } from "./includes.mjs";

const RELAXED = "__wasm_relaxed_simd__";

/**
 * The sources of src/ that depend on the instruction set, directly or through headers, are ROPEWALK_KERNELS of CMakeLists.txt: all others are
 * compiled once for both wasm modules. Those named *_relaxed.cpp are only in one of them.
 */
export function checkInstructionSets(tree) {
  const depends = new Map(); // by path
  const dependsOnSet = (path) => {
    if (depends.has(path)) return depends.get(path);
    depends.set(path, false); // until it is known: headers may include each other
    const text = tree[path] ?? "";
    depends.set(path, text.includes(RELAXED) || includesOf(text).some(({ name }) => dependsOnSet(`src/${name}`)));
    return depends.get(path);
  };
  const [, list = ""] = /set\(ROPEWALK_KERNELS\s([^)]*)\)/.exec(tree["CMakeLists.txt"] ?? "") ?? [];
  const kernels = list.split(/\s+/);
  return Object.keys(tree)
    .filter((path) => /^src\/.*(?<!_relaxed)\.cpp$/.test(path) && dependsOnSet(path) !== kernels.includes(path))
    .map((path) =>
      kernels.includes(path)
        ? `${path}: doesn't depend on ${RELAXED}, but is in ROPEWALK_KERNELS of CMakeLists.txt`
        : `${path}: depends on ${RELAXED}, but isn't in ROPEWALK_KERNELS of CMakeLists.txt`,
    );
}
