// Reads the RoPEs of a file, and turns what is wrong with its keys into findings.
import { type Dict, isDict } from "../../core/base/dict.js";
import type { Advice } from "../../core/base/advice.js";
import { RopewalkError } from "../../core/base/errors.js";
import { ggufSourceOf } from "../../core/config/rope_config.js";
import { type ConfigRopes, configRopes } from "../../runtime/model/plan/config_ropes.js";
import type { Finding } from "./diagnosis.js";
import { misspeltKeys } from "./misspelt_keys.js";

/** What could be read of a file. */
export interface KnownConfig {
  /** The file without the keys that nothing reads. */
  source: Dict;
  /** Undefined if the file can't be read; the findings say why. */
  ropes: ConfigRopes | undefined;
  findings: Finding[];
}

/** Most keys that are left out one after another. */
const MAX_KEYS = 20;

/**
 * Reads a file's RoPEs. A key that nothing reads is left out, as transformers does, and becomes a finding; any other fault ends the reading.
 */
export function readKnownConfig(source: Dict): KnownConfig {
  const findings: Finding[] = misspeltKeys(source);
  let readable = source;
  for (let attempt = 0; attempt <= MAX_KEYS; attempt++) {
    try {
      const ropes = configRopes(readable);
      if (ropes.noRope !== undefined) findings.push(withoutRope(ropes.noRope));
      return { source: readable, ropes, findings };
    } catch (error) {
      if (!(error instanceof RopewalkError)) throw error;
      const { code, field } = error;
      const without = code === "UNKNOWN_KEY" ? withoutKey(readable, field) : undefined;
      if (without === undefined) {
        findings.push(faultOf(error));
        break;
      }
      readable = without;
      findings.push({
        code: "key-not-read",
        severity: "warning",
        field,
        text: `${said(error)}. transformers warns of it and goes on without it, so it changes nothing; check its name and the rope_type.`,
        source: "https://github.com/huggingface/transformers/issues/38224",
      });
    }
  }
  return { source: readable, ropes: undefined, findings };
}

/** What the Doctor repeats of an error: also its advice, unless it is to call something. */
function said({ problem, advice, words }: RopewalkError): string {
  return advice !== undefined && REPEATED.has(advice.do) ? `${problem}; ${words}` : problem;
}

const REPEATED: ReadonlySet<Advice["do"]> = new Set(["other", "spell", "choose", "ropeType"]);

/** What stops the reading of a file, as a finding. */
export function faultOf(error: RopewalkError): Finding {
  const { code, field } = error;
  const text = `${said(error)}. ${code === "UNKNOWN_FAMILY" ? OTHER_FAMILY : ""}`.trimEnd();
  const key = code === "INVALID_FILE" ? field.slice(field.indexOf(": ") + 1).trim() : field; // without the file's name
  return { code: FAULTS[code] ?? "invalid-config", severity: "error", field: key, text, source: "docs/errors.md" };
}

/** A model without RoPE, which isn't wrong. */
function withoutRope(error: RopewalkError): Finding {
  const text = `${error.problem}. No key of RoPE changes anything.`;
  return { code: "no-rope", severity: "note", field: error.field, text, source: "docs/families.md" };
}

/** Unlike `ropeConfig()`, the Doctor takes no overrides. */
const OTHER_FAMILY =
  "Is this the model's whole config.json or GGUF file? If the family is new, write the name of the one that it is built like, such as llama.";

const FAULTS: Readonly<Record<string, string>> = {
  UNKNOWN_FAMILY: "unknown-family",
  UNSUPPORTED_ROPE_TYPE: "unsupported-rope",
};

/** A copy without the key at a path; undefined if it isn't there. Keys of GGUF metadata have dots. */
function withoutKey(source: Dict, path: string): Dict | undefined {
  const gguf = ggufSourceOf(source);
  if (gguf !== undefined) {
    if (!Object.hasOwn(gguf.metadata, path)) return undefined;
    const { [path]: _, ...metadata } = gguf.metadata;
    return { ...gguf, metadata };
  }
  return without(source, path.split("."));
}

function without(source: Dict, [key = "", ...rest]: readonly string[]): Dict | undefined {
  if (!Object.hasOwn(source, key)) return undefined;
  const { [key]: value, ...others } = source;
  if (rest.length === 0) return others;
  const inner = isDict(value) ? without(value, rest) : undefined;
  return inner && { ...source, [key]: inner };
}
