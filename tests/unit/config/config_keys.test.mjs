// Compares TYPE_KEYS and SCALING_KEYS, the description of a scaling's keys, with what can't be derived from them: the fields of
// RopeConfig in C++, the core's checks, and the defaults in the comments of RopeScaling.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { load, ROPE_TYPES } from "ropewalk";
import ts from "typescript";
import { flattenConfig } from "../../../build/package/core/config/flatten.js";
import { TYPE_KEYS } from "../../../build/package/core/config/rope_fields.js";
import { needs, reads } from "../../../build/package/core/config/scaling.js";
import {
  COMMON_KEYS,
  IGNORED_KEYS,
  MROPE_KEYS,
  SCALING_KEYS,
} from "../../../build/package/core/config/scaling_keys.js";
import { booleanAt, integerAt, integersAt, listAt, numberAt } from "../../../build/package/core/config/values.js";
import { rowsOf } from "../../../scripts/fields/lists.mjs";

const path = (name) => new URL(`../../../${name}`, import.meta.url);
const source = (name) => readFileSync(path(name), "utf8");
const entries = Object.entries(SCALING_KEYS);
const readBy = (type) => entries.filter(([name]) => !COMMON_KEYS.includes(name) && reads(type, name));
const rows = rowsOf(source("src/rope/config_fields.def"));

/** A valid value for every key, with a head_dim of 4: 1.5, or the nearest that its range allows, or one of these. */
const VALUES = {
  ...Object.fromEntries(
    rows
      .filter(({ kind }) => kind === "NUMBER")
      .map(({ values: [name, low, high] }) => [
        name,
        Math.min(Math.max(1.5, Number(low)), high === "kLargest" ? 1e30 : Number(high)),
      ]),
  ),
  factor: 2,
  original_max_position_embeddings: 1024,
  attention_factor: 1.1,
  attn_factor: 1.2,
  beta_fast: 16,
  beta_slow: 2,
  mscale: 0.9,
  mscale_all_dim: 0.8,
  truncate: false,
  ramp: "rotations",
  extrapolation_factor: 0.5,
  finetuned: true,
  short_factor: [1, 2],
  long_factor: [3, 4],
  short_mscale: 1.3,
  long_mscale: 1.4,
  low_freq_factor: 1,
  high_freq_factor: 4,
  alpha: 100,
  mixed_b: 0.6,
  inv_freq: [1, 0.5],
  lengths: [4096],
  axes_dim: [2, 2],
  axes_layout: "shared",
  mrope_section: [1, 1],
  mrope_interleaved: false,
  mrope_layout: "vision",
};

/** Position maps that have all numbers together. */
const MAPS = [
  { type: "self_extend", group_size: 2, window: 8 },
  { type: "dual_chunk", chunk_size: 8, local_size: 2 },
  { type: "lm_infinite", window: 8, sink_tokens: 1 },
];

/** A config with every key that a scaling type reads, and every key of other kinds. */
const complete = (rope_type, position_map = null) => ({
  model_type: "grok",
  head_dim: 4,
  pairing: "half",
  rope_theta: 5000,
  rotary_dim: 4,
  rotary_offset: 0,
  frequency_dim: 4,
  reversed: true,
  ...(rope_type === "proportional" && { partial_rotary_factor: 0.5 }),
  max_position_embeddings: 2048,
  context_length: 512,
  rope_scaling: { rope_type, ...Object.fromEntries(readBy(rope_type).map(([name]) => [name, VALUES[name]])) },
  freq_factors: [1, 2],
  xpos: { scale_base: 512, center: 1 },
  query_temperature: { scale: 0.1, floor_scale: 8, offset: 1 },
  logn: { length: 16, scale: 0.1, power: 2 },
  position_map,
  softmax_scale: 0.5,
  compat: "llama.cpp", // the only one under which all types read attn_factor
  precision: "hf",
});

/** The rows of RopeConfig in its list: name to { type, value }. A list of numbers has the type "list". */
const members = new Map(
  rows
    .slice(
      rows.findIndex(({ kind, values }) => kind === "STRUCT" && values[0] === "RopeConfig"),
      rows.findIndex(({ kind }) => kind === "END"),
    )
    .flatMap(({ kind, values: [first, second, value] }) => {
      if (kind === "FIELD") return [[second, { type: first, value }]];
      if (kind === "LIST") return [[first, { type: "list" }]];
      return kind === "STRUCT" ? [] : [[first, { type: "std::optional<double>", value: "{}" }]];
    }),
);

test("flattened configs have the fields of RopeConfig in config_fields.def, and no others", () => {
  const configs = [...ROPE_TYPES.map((type) => complete(type)), ...MAPS.map((map) => complete("default", map))];
  const flattened = configs.flatMap((config) => Object.keys(flattenConfig(config)));
  assert.deepEqual([...new Set(flattened)].sort(), [...members.keys()].sort());
});

test("the C++ type of a field is that of its key", () => {
  const optional = ["std::optional<double>"];
  const expected = new Map([
    [numberAt, [...optional, "double"]],
    [integerAt, optional],
    [booleanAt, ["bool"]],
    [listAt, ["list"]],
    [integersAt, ["list"]],
  ]);
  const names = {
    ramp: "Ramp",
    mrope_layout: "MropeLayout",
    axes_layout: "AxesLayout",
    inv_freq: "list",
  };
  for (const [name, { read }] of entries) {
    if (!members.has(name)) continue;
    assert.ok(
      (names[name] ?? expected.get(read)).includes(members.get(name).type),
      `${name}: ${members.get(name).type}`,
    );
  }
});

test("fields that always have a value in C++ have the same default", () => {
  const shown = (value) => (typeof value === "string" ? new RegExp(`^\\w+::${value}$`) : new RegExp(`^${value}$`));
  for (const [name, { default: value }] of entries) {
    if (value === undefined || [undefined, "{}"].includes(members.get(name)?.value)) continue;
    assert.match(members.get(name).value, shown(value), name);
  }
});

const rw = await load();

for (const type of ROPE_TYPES) {
  test(`${type} needs its required keys and no others`, () => {
    const keys = readBy(type);
    const required = keys.map(([name]) => name).filter((name) => needs(type, name));
    const config = (names) => ({
      head_dim: 4,
      pairing: "half",
      max_position_embeddings: 2048,
      rope_scaling: { rope_type: type, ...Object.fromEntries(names.map((name) => [name, VALUES[name]])) },
    });
    rw.rope(config(required)).dispose();
    rw.rope(complete(type)).dispose();
    for (const missing of required) {
      const others = required.filter((name) => name !== missing);
      assert.throws(
        () => rw.rope(config(others)),
        { code: "INVALID_CONFIG", field: `rope_scaling.${missing}` },
        missing,
      );
    }
    const unread = entries.filter(([name]) => !reads(type, name));
    for (const [name] of unread.filter(([name]) => name !== "original_max_position_embeddings")) {
      const rope_scaling = { rope_type: type, [name]: VALUES[name] };
      if (IGNORED_KEYS[type]?.includes(name) || (type === "dynamic" && name === "alpha")) continue; // alpha makes it ntk_alpha
      const expected = { code: "UNKNOWN_KEY", field: `rope_scaling.${name}` };
      assert.throws(() => rw.rope({ head_dim: 4, pairing: "half", rope_scaling }), expected, name);
    }
  });
}

test("the comment of each key of RopeScaling names its default", () => {
  const file = ts.createSourceFile(
    "keys.ts",
    source("web/src/core/config/scaling_keys.ts"),
    ts.ScriptTarget.Latest,
    true,
  );
  const { members: keys } = file.statements.find(
    (node) => ts.isInterfaceDeclaration(node) && node.name.text === "RopeScaling",
  );
  const docs = new Map(
    keys.map((key) => [key.name.text, ts.getTextOfJSDocComment(ts.getJSDocCommentsAndTags(key)[0].comment)]),
  );
  const isKey = (name) => name !== "rope_type" && name !== "type";
  assert.deepEqual([...docs.keys()].filter(isKey).sort(), entries.map(([name]) => name).sort());
  for (const [name, rule] of entries) {
    const doc = docs.get(name).replace(/\s+/g, " ");
    assert.match(doc, / Types: /, name);
    const [, value] = / Default: `?([^`]+?)`?\.$/.exec(doc) ?? [];
    assert.equal(value, rule.default === undefined ? undefined : String(rule.default), `${name}'s default`);
  }
});

test("every key of a type's row can be read", () => {
  const listed = Object.values(TYPE_KEYS).flat(2);
  const others = [...COMMON_KEYS, ...MROPE_KEYS];
  assert.deepEqual([...new Set([...listed, ...others])].sort(), entries.map(([name]) => name).sort());
});
