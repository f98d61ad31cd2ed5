// Options that change a model's RoPE, and named scalings such as `yarn:4`.
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { type Dict, isDict } from "../../core/base/dict.js";
import { fail } from "../../core/base/errors.js";
import type { RopeOverrides, ScalingOverrides } from "../../core/config/overrides.js";
import { TYPE_KEYS } from "../../core/config/rope_fields.js";
import { MAP_NUMBERS } from "../../core/config/position_map.js";
import { hasRamp, needs, reads } from "../../core/config/scaling.js";
import {
  COMPATS,
  PAIRINGS,
  type PositionMap,
  type PositionMapType,
  ROPE_TYPES,
  type RopeType,
} from "../../core/config/types.js";
import { readFailure } from "./input_file.js";
import { parseNumber, parseNumberAbove, parseTokens, repeatable } from "./options.js";

/** Values of the options that {@link addRopeOptions} adds. */
export interface RopeFlags {
  ropeType?: RopeType;
  factor?: number;
  trainedLength?: number;
  theta?: number;
  pairing?: NonNullable<RopeOverrides["pairing"]>;
  compat?: NonNullable<RopeOverrides["compat"]>;
  positionMap?: GivenMap;
  rope?: RopeOverrides;
  set?: readonly Setting[];
}

/** A config key and its new value. */
export type Setting = readonly [path: readonly string[], value: unknown];

/** A scaling, with its name on the command line. */
export interface NamedScaling {
  /** The argument, for legends and columns. */
  name: string;
  overrides: RopeOverrides;
}

/** Adds the options that change a model's RoPE. They're the same in every command. */
export function addRopeOptions(command: Command): Command {
  return command
    .addOption(new Option("--rope-type <type>", "scaling type that replaces the model's").choices(ROPE_TYPES))
    .option("--factor <n>", "scaling factor: extended length / trained length, at least 1", parseNumber(1))
    .option("--trained-length <n>", "trained context length (original_max_position_embeddings)", parseTokens(1))
    .option("--theta <n>", "base of the frequencies (rope_theta), above 1", parseNumberAbove(1))
    .addOption(new Option("--pairing <pairing>", "which elements of a head form a pair").choices(PAIRINGS))
    .addOption(new Option("--compat <system>", "system to match where implementations differ").choices(COMPATS))
    .option("--position-map <map>", `${POSITION_MAP}, for example self_extend:8:512; or none`, parsePositionMap)
    .option(
      "--rope <file>",
      "JSON file with config keys to change, as ropewalk search writes; the options above come on top",
      parseRopeFile,
    )
    .option(
      "--set <key=value>",
      "set any other config key to a JSON value, for example rope_scaling.beta_fast=16",
      repeatable(parseSetting),
    );
}

/** Config overrides from the flags; undefined if there are none. @throws INVALID_ARGUMENT if a flag that another needs is missing */
export function ropeOverridesFrom(flags: RopeFlags): RopeOverrides | undefined {
  const overrides: Record<string, unknown> = structuredClone({ ...flags.rope });
  const settings: Setting[] = [
    // a scaling type replaces the model's scaling completely
    [["rope_scaling", "rope_type"], flags.ropeType],
    [["rope_scaling", "replace"], flags.ropeType === undefined ? undefined : true],
    [["rope_scaling", "factor"], flags.factor],
    [["rope_scaling", "original_max_position_embeddings"], flags.trainedLength],
    [["rope_theta"], flags.theta],
    [["pairing"], flags.pairing],
    [["compat"], flags.compat],
    [["position_map"], flags.positionMap && mapFrom(flags.positionMap)],
    ...(flags.set ?? []),
  ];
  for (const [path, value] of settings) if (value !== undefined) setAt(overrides, path, value);
  checkFactor(flags.ropeType, overrides);
  return Object.keys(overrides).length > 0 ? overrides : undefined;
}

/** Throws INVALID_ARGUMENT for a scaling type that would change nothing. The config refuses other types. */
function checkFactor(ropeType: RopeType | undefined, overrides: RopeOverrides): void {
  // such a type computes a missing factor from two lengths, and does nothing if it is 1
  if (ropeType === undefined || !hasRamp(ropeType)) return;
  const { factor, original_max_position_embeddings: original } = overrides.rope_scaling ?? {};
  const lengths = [original, overrides.original_max_position_embeddings, overrides.max_position_embeddings];
  if ([factor, ...lengths].some((value) => value !== undefined)) return;
  const message = `is required for --rope-type ${ropeType}, for example --factor 4 (or --trained-length)`;
  fail("INVALID_ARGUMENT", "--factor", message);
}

/** Keys that `type:factor:length` can set. */
const GIVEN = ["factor", "alpha", "original_max_position_embeddings"];

/** The key that the number of `type:number` sets. */
const factorOf = (type: RopeType): "factor" | "alpha" => (reads(type, "alpha") ? "alpha" : "factor");

/** Types that need no other keys, and read a factor. */
const NAMED_BY_FACTOR = ROPE_TYPES.filter(
  (type) => reads(type, factorOf(type)) && TYPE_KEYS[type][0].every((key) => GIVEN.includes(key)),
);

/** Help text for {@link parseScaling}. */
export const SCALING =
  "scaling to use: own (the model's), none, or type:factor[:trained length], for example yarn:4, or a .json file that ropewalk search wrote; with a position map yarn:4+self_extend:8:512; repeatable";

/** Position maps as they are written: the type and its numbers. */
const FORMS = Object.entries(MAP_NUMBERS).map(([type, numbers]) => [type, ...numbers].join(":"));

/** Help text for {@link parsePositionMap}. */
export const POSITION_MAP = `position map: ${FORMS.join(", ")}`;

const isMap = (text: string): boolean => Object.hasOwn(MAP_NUMBERS, text.split(":")[0]!);

/** No position map. Commander takes null for a missing argument. */
const NONE = "none";

/** The value of --position-map. */
export type GivenMap = PositionMap | typeof NONE;

/** A given map as the key of a config. */
export const mapFrom = (given: GivenMap): PositionMap | null => (given === NONE ? null : given);

/** Parses `none` or `type:number[:number]`, for example `self_extend:8:512`. */
export function parsePositionMap(text: string): GivenMap {
  if (text === NONE) return NONE;
  const [type = "", ...numbers] = text.split(":");
  const names = isMap(text) ? MAP_NUMBERS[type as PositionMapType] : undefined;
  if (names === undefined) throw new InvalidArgumentError(`Must be none or one of ${FORMS.join(", ")}.`);
  if (names.length !== numbers.length)
    throw new InvalidArgumentError(
      `Must be ${[type, ...names].join(":")}, for example ${EXAMPLES[type as PositionMapType]}.`,
    );
  const values = names.map((name, index) => [
    name,
    parseTokens(LEAST[name] ?? 1, 2 ** 31, `${name} must`)(numbers[index]!),
  ]);
  const map = { type, ...Object.fromEntries(values) } as PositionMap;
  if (map.type === "dual_chunk" && map.local_size >= map.chunk_size)
    throw new InvalidArgumentError("local_size, the second number, must be less than chunk_size.");
  return map;
}

/** The smallest numbers, if not 1. */
const LEAST: Readonly<Record<string, number>> = { local_size: 0, sink_tokens: 0 };

const EXAMPLES: { readonly [Type in PositionMapType]: string } = {
  self_extend: "self_extend:8:512",
  rerope: "rerope:512",
  dual_chunk: "dual_chunk:1536:256",
  lm_infinite: "lm_infinite:2048:4",
};

/**
 * Parses a scaling, a position map, or both with a plus between them: `yarn:4+self_extend:8:512`. A scaling is `own` (the model's), `none`,
 * `type[:factor[:trained length]]`, for example `yarn:4` or `yarn:4:8192`, or a file as {@link parseRopeFile} reads it. A type replaces the
 * model's scaling. The trained length defaults to `max_position_embeddings` of the config. A map alone comes on top of the model's own scaling.
 */
export function parseScaling(text: string): NamedScaling {
  const [first = "", second, ...rest] = text.split("+");
  if (rest.length > 0 || (second !== undefined && isMap(first)))
    throw new InvalidArgumentError(
      "Must be a scaling, or a scaling, a plus and a position map: yarn:4+self_extend:8:512.",
    );
  if (isMap(first)) return { name: text, overrides: mapOverrides(first) };
  const { overrides } = parseFrequencies(first);
  return { name: text, overrides: { ...overrides, ...(second !== undefined && mapOverrides(second)) } };
}

function mapOverrides(text: string): RopeOverrides {
  return { position_map: mapFrom(parsePositionMap(text)) };
}

/** Reads a JSON file of config keys, as `ropewalk search` writes it. A scaling in it replaces the model's. */
function parseRopeFile(path: string): RopeOverrides {
  let keys: unknown;
  try {
    keys = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    const why =
      error instanceof SyntaxError
        ? `It isn't valid JSON: ${error.message}.`
        : `${readFailure(error).replace(/^./, (first) => first.toUpperCase())}.`;
    throw new InvalidArgumentError(why);
  }
  if (!isDict(keys)) throw new InvalidArgumentError("It must contain a JSON object.");
  const name = ["rope_scaling", "rope_parameters"].find((key) => isDict(keys[key]));
  if (name === undefined) return keys;
  return { ...keys, [name]: { replace: true, ...(keys[name] as Dict) } };
}

function parseFrequencies(text: string): NamedScaling {
  if (text === "own") return { name: text, overrides: {} };
  if (text.endsWith(".json")) return { name: text, overrides: parseRopeFile(text) };
  if (text === "none") return { name: text, overrides: { rope_scaling: null } };
  const [type = "", factor, length, ...rest] = text.split(":");
  const types = `Types are ${NAMED_BY_FACTOR.join(", ")}.`;
  if (!ROPE_TYPES.includes(type as RopeType) || rest.length > 0)
    throw new InvalidArgumentError(`Must be own, none or type:factor, for example yarn:4. ${types}`);
  if (!NAMED_BY_FACTOR.includes(type as RopeType))
    throw new InvalidArgumentError(`${type} isn't given by a factor alone; use --rope-type and --set. ${types}`);
  const name = type as RopeType;
  if (factor === undefined && (needs(name, factorOf(name)) || hasRamp(name)))
    throw new InvalidArgumentError(`Needs a factor, for example ${type}:4.`);
  const rope_scaling: ScalingOverrides = { rope_type: type as RopeType, replace: true };
  if (factor !== undefined) rope_scaling[factorOf(name)] = parseNumber(1, undefined, "The factor must")(factor);
  if (length !== undefined)
    rope_scaling.original_max_position_embeddings = parseTokens(1, undefined, "The trained length must")(length);
  return { name: text, overrides: { rope_scaling } };
}

function parseSetting(text: string): Setting {
  const separator = text.indexOf("=");
  const [path, value] = [text.slice(0, Math.max(separator, 0)).split("."), text.slice(separator + 1)];
  // "__proto__" would change the prototype of all objects
  if (path.some((key) => key === "" || key === "__proto__"))
    throw new InvalidArgumentError("Must be key=value, for example rope_scaling.beta_fast=16.");
  try {
    return [path, JSON.parse(value)];
  } catch {
    return [path, value]; // strings don't need quotes
  }
}

function setAt(target: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = target[key];
  const next = typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>) : {};
  target[key] = next;
  setAt(next, rest, value);
}
