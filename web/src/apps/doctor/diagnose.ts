// The entry to this folder: puts a diagnosis together.
import { optionalSignal, wholeNumber } from "../../core/base/checks.js";
import type { Dict } from "../../core/base/dict.js";
import { fail, RopewalkError } from "../../core/base/errors.js";
import { checkOptions, optionNames } from "../../core/base/options.js";
import { type PositionMap, positionMapAt } from "../../core/config/position_map.js";
import { overrideRopeConfig } from "../../core/config/rope_config.js";
import type { ModelSource, OpenOptions } from "../../runtime/files/model_files.js";
import type { FilePlatform } from "../../runtime/files/platform.js";
import type { Ropewalk } from "../../runtime/ropewalk/ropewalk.js";
import { type ConfigRopes, recurrentLayers } from "../../runtime/model/plan/config_ropes.js";
import { type Diagnosis, type Finding, type Recipe, SEVERITIES } from "./diagnosis.js";
import { extensionFor } from "./extend.js";
import { type Facts, factsOf } from "./facts.js";
import { type Case, writtenScaling } from "./findings.js";
import { ENCODER_CHECKS } from "./findings_encoders.js";
import { KEY_CHECKS } from "./findings_keys.js";
import { USE_CHECKS } from "./findings_use.js";
import { faultOf, type KnownConfig } from "./known_config.js";
import { layerGroups, layersOf } from "./layers.js";
import { mainGroup, servedLength } from "./lengths.js";
import { cacheMemory } from "./memory.js";
import { type Opened, openSource } from "./open.js";
import { draftBlocks, type RopeOrder } from "./recipe.js";
import { checkBlock } from "./recipe_check.js";
import { systemReports } from "./systems.js";
import { readWithLength } from "./trained_length.js";
import { supportOf } from "../../runtime/model/plan/support.js";
import { describeWithoutRope } from "./without_rope.js";
import { weightMemory } from "./weights.js";
import { verdictOf, verdictWithoutRope } from "./verdict.js";

/** Options of {@link Diagnose}. */
export interface DiagnoseOptions extends Pick<
  OpenOptions,
  "signal" | "headers" | "retries" | "timeout" | "hub" | "token"
> {
  /** Tokens that the model should read: 1 to 2^30. Default: what it serves as it is. */
  length?: number;
  /** Tokens that the model was trained on, for a file that doesn't say so: 1 to 2^30. A length in the file counts before this one. */
  trainedLength?: number;
  /** A position map to judge in place of the file's: as the key of a config. null takes the file's away. */
  positionMap?: PositionMap | null;
}

/**
 * Explains the RoPE of a model: what it is, what transformers, llama.cpp, vLLM, SGLang and MLX do with it, mistakes in its keys, and the lines to paste for a
 * length.
 *
 * @param rw - from `load()`
 * @param source - a parsed config.json, GGUF metadata as `ropeConfig()` takes it, or a {@link ModelSource}: a file, a folder, an address or a name.
 * Headers are read, and no weights.
 * @returns plain JSON. What is wrong with the keys of a file is a finding, not an error.
 * @throws RopewalkError INVALID_FILE, NETWORK, UNSUPPORTED_MODEL for a source that can't be opened; INVALID_ARGUMENT, UNKNOWN_KEY for
 * arguments; the signal's reason after an abort.
 */
export type Diagnose = (
  rw: Ropewalk,
  source: ModelSource | Readonly<Record<string, unknown>>,
  options?: DiagnoseOptions,
) => Promise<Diagnosis>;

const OPTIONS = optionNames<DiagnoseOptions>("diagnose()", {
  length: true,
  trainedLength: true,
  positionMap: true,
  signal: true,
  headers: true,
  retries: true,
  timeout: true,
  hub: true,
  token: true,
});

/** Length of a file that doesn't name one. */
const SOME_LENGTH = 4096;

/** Implements `diagnose()`. @internal */
export async function diagnoseOn(
  platform: FilePlatform,
  rw: Ropewalk,
  source: ModelSource | Dict,
  options: DiagnoseOptions | undefined,
): Promise<Diagnosis> {
  const { length, trainedLength, positionMap, signal, ...rest } = checkOptions(options, OPTIONS);
  if (typeof (rw as Partial<Ropewalk> | undefined)?.describe !== "function")
    fail("INVALID_ARGUMENT", "rw", "must be what load() returns");
  if (length !== undefined) wholeNumber(length, 1, 2 ** 30, "length");
  if (trainedLength !== undefined) wholeNumber(trainedLength, 1, 2 ** 30, "trainedLength");
  if (positionMap) positionMapAt(positionMap, "positionMap");
  optionalSignal(signal);
  const opened = await openSource(platform, source, { ...rest, ...(signal !== undefined && { signal }) });
  return diagnoseOpened(rw, opened, withMap(readWithLength(opened.source, trainedLength), positionMap), length);
}

/** Another position map. As in `rw.model()`, sliding-window layers with a RoPE of their own keep theirs. */
function withMap({ ropes, ...known }: KnownConfig, position_map: PositionMap | null | undefined): KnownConfig {
  if (ropes === undefined || position_map === undefined) return { ...known, ropes };
  const changed = ropes.ropes.map((one) =>
    one.kind === "sliding_attention" ? one : { ...one, rope: overrideRopeConfig(one.rope, { position_map }) },
  );
  return { ...known, ropes: { ...ropes, ropes: changed } };
}

function diagnoseOpened(
  rw: Ropewalk,
  opened: Opened,
  { source, ropes, findings: faults }: KnownConfig,
  requested: number | undefined,
): Diagnosis {
  const facts = factsOf({ source });
  const head = headOf(opened, facts, requested);
  try {
    if (ropes !== undefined) return { ...head, ...describeAll(rw, opened.name, facts, ropes, faults, requested) };
  } catch (error) {
    // The ranges of numbers are checked when they are used.
    if (!(error instanceof RopewalkError)) throw error;
    const isKnown = faults.some(({ code }) => code === "trained-length-missing"); // what needs the length fails without it
    if (!isKnown) faults.push(faultOf(error));
  }
  return { ...head, verdict: verdictWithoutRope(facts, faults), findings: sorted(faults) };
}

function describeAll(
  rw: Ropewalk,
  name: string,
  facts: Facts,
  ropes: ConfigRopes,
  faults: readonly Finding[],
  requested: number | undefined,
): Partial<Diagnosis> {
  const first = mainGroup(layerGroups(rw, facts, ropes, 1));
  if (first === undefined)
    return describeWithoutRope(name, facts, ropes, sorted(faults), { requested, someLength: SOME_LENGTH });
  const served = servedLength(first.config);
  const length = requested ?? served ?? SOME_LENGTH;
  const groups = layerGroups(rw, facts, ropes, length);
  const main = mainGroup(groups)!;
  const systems = systemReports(rw, facts, groups, main, length);
  const { scaling, path } = writtenScaling(facts, main.kind);
  const extension = extensionFor(groups, main, length);
  const recurrent = [...recurrentLayers(facts.source, layersOf(ropes)).layers];
  const hasLayersWithoutRope = ropes.layersWithoutRope.length > 0;
  const { runs } = supportOf(facts.source);
  const isEncoder = runs === "embeds";
  const examined: Case = {
    rw,
    facts,
    isEncoder,
    main,
    hasLayersWithoutRope,
    systems,
    length,
    extension,
    scaling,
    path,
  };
  const checks = [...USE_CHECKS, ...(isEncoder ? ENCODER_CHECKS : []), ...KEY_CHECKS];
  const findings = checks.flatMap((check) => check(examined) ?? []);
  const memory = isEncoder ? null : cacheMemory(facts, ropes, length);
  const order = { facts, name, groups, main, length, scaling, runs, hasMemory: memory !== null };
  return {
    length,
    trainedLength: main.trained,
    servedLength: served,
    verdict: verdictOf(main, extension, {
      length,
      isRequested: requested !== undefined,
      trained: main.trained,
      served,
    }),
    findings: sorted([...faults, ...findings]),
    layers: groups,
    layersWithoutRope: [...ropes.layersWithoutRope],
    recurrentLayers: recurrent,
    memory,
    systems,
    recipe: extension === undefined ? null : recipeOf(rw, { ...order, extension }),
  };
}

function recipeOf(rw: Ropewalk, order: RopeOrder): Recipe {
  const { facts, groups, extension } = order;
  return {
    summary: extension.summary,
    configs: groups.map(({ kind }, i) => ({ kind, config: extension.configs[i]! })),
    blocks: draftBlocks(order).map((draft) => checkBlock(rw, draft, order)),
    note: facts.isGguf ? "For transformers and vLLM, open the model's config.json: they get lines of their own." : "",
  };
}

/** A diagnosis of a file of which nothing is known. */
function headOf({ name, kind, source, stored }: Opened, { family }: Facts, requested: number | undefined): Diagnosis {
  return {
    name,
    kind,
    family: family ?? null,
    length: requested ?? SOME_LENGTH,
    isRequested: requested !== undefined,
    trainedLength: null,
    servedLength: null,
    verdict: { status: "unknown", text: "" },
    support: supportOf(source),
    findings: [],
    layers: [],
    layersWithoutRope: [],
    recurrentLayers: [],
    memory: null,
    weights: weightMemory({ source, ...(stored !== undefined && { stored }) }),
    systems: [],
    recipe: null,
  };
}

/** Worst first, otherwise in the order in which they were found. */
function sorted(findings: readonly Finding[]): Finding[] {
  const rank = ({ severity }: Finding): number => -SEVERITIES.indexOf(severity);
  return [...findings].sort((a, b) => rank(a) - rank(b));
}
