// The options and arguments of a command, for the fields of errors.
import type { Command, Option } from "commander";
import type { Setting } from "./rope_options.js";

/** Options of the package that have other names here. The first that the command has is named. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  contextLength: ["context", "window"],
  length: ["context"],
  seqLen: ["context"],
  seconds: ["time"],
  filler: ["text"],
  layer_type: ["layerType"],
  "kv.dtype": ["kv"],
  "kv.keys": ["kvKeys"],
  "dry.multiplier": ["dry"],
  "dry.base": ["dryBase"],
  "dry.allowedLength": ["dryAllowedLength"],
  "dry.window": ["dryWindow"],
  "dry.breakers": ["dryBreaker"],
  "xtc.probability": ["xtc"],
  "xtc.threshold": ["xtcThreshold"],
  "mirostat.tau": ["mirostat"],
  "mirostat.eta": ["mirostatEta"],
};

/** Keys of a config that have an option. The others are set by --set. */
const KEYS: Readonly<Record<string, string>> = {
  rope_theta: "theta",
  pairing: "pairing",
  compat: "compat",
  position_map: "positionMap",
  "rope_scaling.rope_type": "ropeType",
  "rope_scaling.factor": "factor",
  "rope_scaling.original_max_position_embeddings": "trainedLength",
};

/** Options of the package that are several here, by the names of their values. Those that the user gave are named. */
const SEVERAL: Readonly<Record<string, readonly string[]>> = {
  rope: ["ropeType", "factor", "trainedLength", "theta", "pairing", "compat", "positionMap", "set", "scaling"],
  format: ["jsonObject", "jsonSchema", "regex", "choice", "grammar"],
};

/** What begins the paths of what a caller overrides: the option of ropeConfig(), or that of a model, of a kind of its layers. */
const OVERRIDES = /^(?:overrides|rope(?:\.(?:full|sliding)_attention)?)\./;

/** Whether a field is a key that the user set. */
export function isOfOverrides(field: string): boolean {
  return OVERRIDES.test(field);
}

/** What a command was given. */
export class GivenOptions {
  readonly #command: Command;

  constructor(command: Command) {
    this.#command = command;
  }

  /** The first argument. */
  get source(): string | undefined {
    return this.#command.args[0];
  }

  /** Whether the user gave the option whose value has this name. */
  has(name: string): boolean {
    return this.#command.getOptionValueSource(name) === "cli";
  }

  /** The option whose value has this name, as it is written: `--top-k`; undefined if neither the command nor the program has one. */
  flag(name: string): string | undefined {
    const isNamed = (option: Option): boolean => option.attributeName() === name;
    for (let command: Command | null = this.#command; command !== null; command = command.parent) {
      const flag = command.options.find(isNamed)?.long;
      if (flag) return flag;
    }
    return undefined;
  }

  /** The option for one of the package; undefined if the command has none. If it is several here, those that the user gave. */
  flagOf(option: string): string | undefined {
    const several = SEVERAL[option];
    if (several !== undefined) return several.filter((name) => this.has(name)).map((name) => this.flag(name)!).join(", ") || undefined; // prettier-ignore
    return [...(OPTIONS[option] ?? []), option].map((name) => this.flag(name)).find((flag) => flag !== undefined);
  }

  /** Whether --set has a key. */
  #sets(key: string): boolean {
    const settings = (this.#command.getOptionValue("set") ?? []) as readonly Setting[];
    return settings.some(([path]) => path.join(".") === key);
  }

  /** What sets a key of a config, with a value if one is given. */
  flagOfKey(key: string, value?: string): string {
    const own = KEYS[key];
    const isSet = own !== undefined && !this.has(own) && this.#sets(key);
    const flag = own === undefined || isSet ? undefined : this.flag(own);
    if (value === undefined) return flag ?? `--set ${key}`;
    return flag === undefined ? `--set ${key}=${value}` : `${flag} ${value}`;
  }

  /** The field of an error, as the user wrote it. */
  field(field: string): string {
    const text = /^(text|document)s\[(\d+)\]$/.exec(field);
    if (text !== null) return `${text[1]} ${Number(text[2]) + 1}`;
    if (field === "folder: files") return this.source ?? field;
    const listed = /^([\w.]+)\[\d+\]$/.exec(field); // an entry of an option with a list
    const flagOfList = listed === null ? undefined : this.flagOf(listed[1]!);
    if (flagOfList !== undefined) return flagOfList;
    const own = KEYS[field];
    const isGiven = this.#sets(field) || (own !== undefined && this.has(own));
    // keys of a scaling that the user named are the user's as well
    const isScaling =
      field.startsWith("rope_scaling.") && ["ropeType", "factor", "scaling"].some((name) => this.has(name));
    if (!isOfOverrides(field) && !isScaling && !isGiven) return this.flagOf(field) ?? field;
    const key = field.replace(OVERRIDES, "");
    const option = KEYS[key];
    if (this.has("scaling") && !this.has("set") && (option === undefined || !this.has(option))) return "--scaling";
    return this.flagOfKey(key);
  }
}
