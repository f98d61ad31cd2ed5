import { type Command, InvalidArgumentError, Option } from "commander";
import type { RopeOverrides, ScalingOverrides } from "../config/overrides.js";
import { COMPATS, PAIRINGS, ROPE_TYPES, type RopeType } from "../config/types.js";
import { above, anyNumber, several, wholeNumber } from "./options.js";

/** What the options of {@link addRopeOptions} hold. */
export interface RopeFlags {
  ropeType?: RopeType;
  factor?: number;
  originalLength?: number;
  theta?: number;
  pairing?: NonNullable<RopeOverrides["pairing"]>;
  compat?: NonNullable<RopeOverrides["compat"]>;
  set?: readonly Setting[];
}

/** A key of a config and what it is set to. */
type Setting = readonly [path: readonly string[], value: unknown];

/** A scaling with the words it was asked for by. */
export interface NamedScaling {
  /** As given, for legends and columns. */
  name: string;
  overrides: RopeOverrides;
}

/** Adds the options that change a model's RoPE: the same words for every command. */
export function addRopeOptions(command: Command): Command {
  return command
    .addOption(new Option("--rope-type <type>", "scaling to use in place of the model's own").choices(ROPE_TYPES))
    .option("--factor <n>", "extended over trained length, from 1", anyNumber(1))
    .option("--original-length <n>", "trained length in positions", wholeNumber(1))
    .option("--theta <n>", "base of the frequencies, above 1", above(1))
    .addOption(new Option("--pairing <pairing>", "which elements turn together").choices(PAIRINGS))
    .addOption(new Option("--compat <system>", "whose rules hold where systems differ").choices(COMPATS))
    .option(
      "--set <key=value>",
      "any other key of the config, as JSON: --set rope_scaling.beta_fast=16",
      several(parseSetting),
    );
}

/** What {@link addRopeOptions} were given, as overrides of a config; undefined where nothing is changed. */
export function modelRopeFrom(flags: RopeFlags): RopeOverrides | undefined {
  const overrides: Record<string, unknown> = {};
  const settings: Setting[] = [
    // naming a type says what to do with the model's own scaling
    [["rope_scaling", "rope_type"], flags.ropeType],
    [["rope_scaling", "replace"], flags.ropeType === undefined ? undefined : true],
    [["rope_scaling", "factor"], flags.factor],
    [["rope_scaling", "original_max_position_embeddings"], flags.originalLength],
    [["rope_theta"], flags.theta],
    [["pairing"], flags.pairing],
    [["compat"], flags.compat],
    ...(flags.set ?? []),
  ];
  for (const [path, value] of settings) if (value !== undefined) setAt(overrides, path, value);
  return Object.keys(overrides).length > 0 ? overrides : undefined;
}

/** Types that do nothing without a factor. */
const BY_FACTOR: readonly RopeType[] = ["linear", "ntk", "ntk_mix", "ntk_by_parts", "yarn", "dynamic_yarn"];

/** What {@link parseScaling} reads, in the help. */
export const SCALING = "own, none or type:factor[:trained length], as yarn:4; may be given several times";

/**
 * Reads `none`, or `type[:factor[:trained length]]` as in `yarn:4` or `yarn:4:8192`. The model's own scaling is dropped. The trained length
 * is otherwise what the file calls `max_position_embeddings`.
 */
export function parseScaling(text: string): NamedScaling {
  if (text === "own") return { name: text, overrides: {} };
  if (text === "none") return { name: text, overrides: { rope_scaling: null } };
  const [type = "", factor, length, ...rest] = text.split(":");
  if (!ROPE_TYPES.includes(type as RopeType) || rest.length > 0) {
    throw new InvalidArgumentError(
      `Must be own, none or type:factor, as in yarn:4, with a type of ${ROPE_TYPES.join(", ")}.`,
    );
  }
  if (factor === undefined && BY_FACTOR.includes(type as RopeType))
    throw new InvalidArgumentError(`Needs a factor, as in ${type}:4.`);
  const rope_scaling: ScalingOverrides = { rope_type: type as RopeType, replace: true };
  if (factor !== undefined) rope_scaling[type === "ntk_alpha" ? "alpha" : "factor"] = anyNumber(1)(factor);
  if (length !== undefined) rope_scaling.original_max_position_embeddings = wholeNumber(1)(length);
  return { name: text, overrides: { rope_scaling } };
}

function parseSetting(text: string): Setting {
  const at = text.indexOf("=");
  const [path, value] = [text.slice(0, Math.max(at, 0)).split("."), text.slice(at + 1)];
  // "__proto__" would name what all objects have in common
  if (path.some((key) => key === "" || key === "__proto__"))
    throw new InvalidArgumentError("Must be key=value, as in rope_scaling.beta_fast=16.");
  try {
    return [path, JSON.parse(value)];
  } catch {
    return [path, value]; // a name needs no quotes
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
