// The length that a model was trained on, for files that don't name it.
import { type Dict, isDict } from "../../core/base/dict.js";
import { ggufSourceOf } from "../../core/config/rope_config.js";
import type { Finding } from "./diagnosis.js";
import { type Facts, factsOf, tokens, valueOf } from "./facts.js";
import { type KnownConfig, readKnownConfig } from "./known_config.js";
import { servedLength } from "./lengths.js";

/** A length to try: only whether the file can be read with one matters. */
const SOME_LENGTH = 4096;

/** Reads a file's RoPEs, with `trainedLength` if the file names no length. If there is none, a finding says so. */
export function readWithLength(source: Dict, trainedLength: number | undefined): KnownConfig {
  const known = readKnownConfig(source);
  const facts = factsOf(known);
  if (!needsLength(known, facts)) {
    if (trainedLength !== undefined && known.ropes !== undefined) known.findings.push(notUsed(facts, trainedLength));
    return known;
  }
  if (trainedLength !== undefined) return readKnownConfig(withLength(source, facts, trainedLength));
  // An error is about the missing length too.
  return { ...known, findings: [missing(facts), ...known.findings.filter(({ severity }) => severity !== "error")] };
}

/** Whether a length is all that the file lacks. */
function needsLength({ source, ropes }: KnownConfig, facts: Facts): boolean {
  if (ropes !== undefined)
    return ropes.ropes.length > 0 && ropes.ropes.every(({ rope }) => servedLength(rope) === null);
  const hasOne = valueOf(facts, "max_position_embeddings", "context_length") !== undefined;
  return !hasOne && readKnownConfig(withLength(source, facts, SOME_LENGTH)).ropes !== undefined;
}

const keyOf = ({ isGguf, prefix }: Facts): string => prefix + (isGguf ? "context_length" : "max_position_embeddings");

function withLength(source: Dict, facts: Facts, length: number): Dict {
  const key = keyOf(facts);
  const gguf = ggufSourceOf(source);
  if (gguf !== undefined) return { ...gguf, metadata: { ...gguf.metadata, [key]: length } };
  return withValue(source, key.split("."), length);
}

function withValue(source: Dict, [key = "", ...rest]: readonly string[], value: number): Dict {
  const inner = source[key];
  return { ...source, [key]: rest.length > 0 ? withValue(isDict(inner) ? inner : {}, rest, value) : value };
}

function missing(facts: Facts): Finding {
  return {
    code: "trained-length-missing",
    severity: "error",
    field: keyOf(facts),
    text: "isn't in the file. It is the number of tokens that the model was trained on, and the model's page usually names it. Add the key, or give the number: on the Doctor's page in the field above the verdict, in the shell by --trained-length, in code by trainedLength.",
    source: "docs/doctor.md#a-file-without-its-length",
  };
}

function notUsed(facts: Facts, length: number): Finding {
  return {
    code: "trained-length-not-used",
    severity: "note",
    field: keyOf(facts),
    text: `The trained length that you gave, ${tokens(length)}, isn't used: the file has its own.`,
    source: "docs/doctor.md#a-file-without-its-length",
  };
}
