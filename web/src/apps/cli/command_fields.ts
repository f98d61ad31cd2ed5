// The options and arguments of a command, for the fields of errors.
import type { Command, Option } from "commander";

/** Options of the package that have other names here. The first that the command has is named. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  contextLength: ["context", "window"],
  length: ["context"],
  seqLen: ["context"],
  layer_type: ["layerType"],
  "kv.dtype": ["kv"],
  "dry.multiplier": ["dry"],
  "dry.base": ["dryBase"],
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
  "rope_scaling.rope_type": "ropeType",
  "rope_scaling.factor": "factor",
  "rope_scaling.original_max_position_embeddings": "trainedLength",
};

/** Options of the package that are several here, by the names of their values. Those that the user gave are named. */
const SEVERAL: Readonly<Record<string, readonly string[]>> = {
  rope: ["ropeType", "factor", "trainedLength", "theta", "pairing", "compat", "set", "scaling"],
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

  /** The option whose value has this name, as it is written: `--top-k`; undefined if the command has none. */
  flag(name: string): string | undefined {
    return this.#command.options.find((option: Option) => option.attributeName() === name)?.long ?? undefined;
  }

  /** The option for one of the package; undefined if the command has none. If it is several here, those that the user gave. */
  flagOf(option: string): string | undefined {
    const several = SEVERAL[option];
    if (several !== undefined) return several.filter((name) => this.has(name)).map((name) => this.flag(name)!).join(", ") || undefined; // prettier-ignore
    return [...(OPTIONS[option] ?? []), option].map((name) => this.flag(name)).find((flag) => flag !== undefined);
  }

  /** What sets a key of a config, with a value if one is given. */
  flagOfKey(key: string, value?: string): string {
    const own = KEYS[key];
    const flag = own === undefined ? undefined : this.flag(own);
    if (value === undefined) return flag ?? `--set ${key}`;
    return flag === undefined ? `--set ${key}=${value}` : `${flag} ${value}`;
  }

  /** The field of an error, as the user wrote it. */
  field(field: string): string {
    const text = /^(text|document)s\[(\d+)\]$/.exec(field);
    if (text !== null) return `${text[1]} ${Number(text[2]) + 1}`;
    if (field === "folder: files") return this.source ?? field;
    const listed = /^(\w+)\[\d+\]$/.exec(field); // an entry of an option with a list
    if (listed !== null && this.flag(listed[1]!) !== undefined) return this.flag(listed[1]!)!;
    // keys of a scaling that the user named are the user's as well
    const isScaling = field.startsWith("rope_scaling.") && (this.has("ropeType") || this.has("scaling"));
    if (!isOfOverrides(field) && !isScaling) return this.flagOf(field) ?? field;
    const key = field.replace(OVERRIDES, "");
    const own = KEYS[key];
    if (this.has("scaling") && !this.has("set") && (own === undefined || !this.has(own))) return "--scaling";
    return this.flagOfKey(key);
  }
}
