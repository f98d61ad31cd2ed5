// Lists that C++ and TypeScript share: an enumerator is passed to wasm as its index, so names and order must be the
// same.
import assert from "node:assert/strict";
import test from "node:test";
import { readTree } from "../../scripts/check_rules.mjs";

/** C++ enum: [TypeScript list, names that only C++ has and that come first]. */
const SHARED = {
  Pairing: ["PAIRINGS"],
  Compat: ["COMPATS"],
  Precision: ["PRECISIONS"],
  Ramp: ["RAMPS"],
  MapType: ["POSITION_MAP_TYPES", "none"],
  MropeLayout: ["MROPE_LAYOUTS"],
  AxesLayout: ["AXES_LAYOUTS"],
  Family: ["YARN_FAMILIES"],
  Role: ["ROLES"],
  DType: ["DTYPES"],
  Layout: ["LAYOUTS"],
  TableLayout: ["TABLE_LAYOUTS"],
  DecayCurve: ["DECAY_CURVES"],
  RowType: ["CACHE_DTYPES"],
  KeyMode: ["KEY_MODES"],
  PositionScheme: ["SCHEMES", "none", "rope"],
  LinearMode: ["MODES"],
  WeightFormat: ["WEIGHT_BLOCKS"],
  NormKind: ["NORMS"],
  QueryKeyNorm: ["QUERY_KEY_NORMS"],
  AttentionGate: ["ATTENTION_GATES"],
  ExpertWeight: ["EXPERT_WEIGHTS"],
  Activation: ["ACTIVATIONS"],
  ModelMatrix: ["MODEL_MATRICES"],
  ModelVector: ["MODEL_VECTORS"],
  LayerMatrix: ["LAYER_MATRICES"],
  LayerVector: ["LAYER_VECTORS"],
  Recurrence: ["RECURRENCES"],
  Pooling: ["POOLINGS"],
  SamplerOrder: ["SAMPLER_ORDERS"],
  SamplerField: ["SAMPLER_FIELDS"],
};

/** Enums that JavaScript never sees, or whose names a script writes of the same list. */
const ONLY_CPP = ["Status", "RopeType", "ImageKind", "Stage", "Rotation", "RelaxedSign", "Walk", "HeadOrder"];

/** Names that can't be an identifier in C++. */
const SPELLED = { llama_cpp: "llama.cpp" };

/** Every enum class of the sources: name to enumerators. */
function enumsOf(tree) {
  const enums = new Map();
  for (const [path, text] of Object.entries(tree)) {
    if (!/^(src|bindings)\/.*\.(h|cpp)$/.test(path)) continue;
    for (const [, name, body] of text.matchAll(/enum class (\w+)[^{;]*\{([^}]*)\}/g)) {
      const listed = body.replace(/\/\/.*$/gm, "").split(",");
      const names = listed.map((entry) => entry.split("=")[0].trim()).filter(Boolean);
      enums.set(
        name,
        names.map((one) => SPELLED[one] ?? one),
      );
    }
  }
  return enums;
}

/** The names in the TypeScript constants of this name: strings of a list, or keys of an object. */
function listsOf(tree, name) {
  const pattern = new RegExp(`const ${name}\\b[^=]*= (?:\\[([^\\]]*)\\]|\\{\\n((?:  .*\\n)*)\\})`, "g");
  return Object.entries(tree)
    .filter(([path]) => /^web\/src\/(?!apps\/cli\/).*\.ts$/.test(path)) // the command line passes names, not indices
    .flatMap(([, text]) => [...text.matchAll(pattern)])
    .map(([, list, object]) =>
      list === undefined ? [...object.matchAll(/^ {2}(\w+):/gm)] : [...list.matchAll(/"([^"]*)"/g)],
    )
    .map((names) => names.map(([, one]) => one));
}

const differences = (tree) => {
  const enums = enumsOf(tree);
  return Object.entries(SHARED).filter(([name, [list, ...onlyCpp]]) => {
    const expected = JSON.stringify(enums.get(name));
    return !listsOf(tree, list).some((names) => JSON.stringify([...onlyCpp, ...names]) === expected);
  });
};

const tree = await readTree();

for (const [name, [list, ...onlyCpp]] of Object.entries(SHARED)) {
  test(`${name} and ${list} have the same names in the same order`, () => {
    const lists = listsOf(tree, list);
    assert.equal(lists.length, 1, `there must be one list named ${list} in web/src`);
    assert.deepEqual([...onlyCpp, ...lists[0]], enumsOf(tree).get(name));
  });
}

test("every enum is shared, or known to be used in C++ only", () => {
  const known = [...Object.keys(SHARED), ...ONLY_CPP];
  assert.deepEqual([...enumsOf(tree).keys()].sort(), known.sort());
});

test("a name that is added, removed or moved on one side is detected", () => {
  const path = Object.keys(tree).find((path) => path.startsWith("src/") && /enum class Ramp\b/.test(tree[path]));
  const changed = (from, to) => {
    assert.match(tree[path], from);
    return differences({ ...tree, [path]: tree[path].replace(from, to) }).map(([name]) => name);
  };
  assert.deepEqual(
    changed(/enum class Ramp : int \{ pair_index, rotations/, "enum class Ramp : int { rotations, pair_index"),
    ["Ramp"],
  );
  assert.deepEqual(changed(/MropeLayout : int \{ chunked,/, "MropeLayout : int { plain, chunked,"), ["MropeLayout"]);
});
