// Writes the lines to paste for each system. Each block is read back and its frequencies are computed (recipe_check.ts).
import { type Dict, isDict } from "../../core/base/dict.js";
import { mapAsOption, mapFor } from "../../core/config/position_map.js";
import { knownFamily } from "../../core/config/family_lookup.js";
import type { Support } from "../../runtime/model/plan/support.js";
import type { LayerGroup, RecipeBlock } from "./diagnosis.js";
import type { Extension } from "./extend.js";
import { type Facts, ranksPairs, tokens, valueOf } from "./facts.js";
import { servedLength } from "./lengths.js";
import { readsParameters } from "./readings.js";

/** A block that nobody has checked yet. */
export type Draft = Omit<RecipeBlock, "checked">;

/** What the lines are written for. */
export interface Order {
  readonly facts: Facts;
  /** File name of the model. */
  readonly name: string;
  readonly groups: readonly LayerGroup[];
  /** Undefined for a model without RoPE, as the extension. */
  readonly main: LayerGroup | undefined;
  readonly extension: Extension | undefined;
  readonly length: number;
  /** The scaling in the file as it is written. */
  readonly scaling: Dict;
  /** What Ropewalk does with the model. */
  readonly runs: Support["runs"];
  /** Whether the report has a table of memory. */
  readonly hasMemory: boolean;
}

/** An order for a model with RoPE. */
export interface RopeOrder extends Order {
  readonly main: LayerGroup;
  readonly extension: Extension;
}

/** Whether the keys of a model change. */
const isScaled = (order: Order): order is RopeOrder => order.extension?.changes === true;

/**
 * Lines for all systems. A GGUF file is run by llama.cpp, and by Ropewalk if it has the architecture. Only Ropewalk is told a position map.
 */
export function draftBlocks(order: Order): Draft[] {
  const { facts } = order;
  const ours = order.runs === null ? [] : ropewalkBlocks(order);
  if (order.extension?.overrides?.position_map) return ours;
  const transformers = isScaled(order) ? transformersBlocks(order) : [unchangedBlock(order)];
  const hub = facts.isGguf ? [] : [...transformers, vllmBlock(order), sglangBlock(order), ...mlxBlocks(order)];
  return [llamaBlock(order), ...hub, ...ours];
}

const isEncoder = ({ runs }: Order): boolean => runs === "embeds";

/** A model that fits. */
function unchangedBlock(order: Order): Draft {
  const kind = ranksPairs(order.facts) ? "CrossEncoder" : "SentenceTransformer";
  return {
    system: "transformers",
    title: isEncoder(order) ? "sentence-transformers" : "transformers",
    language: "python",
    text: isEncoder(order)
      ? `model = ${kind}("model/")\nmodel.max_seq_length = ${order.length}`
      : 'model = AutoModelForCausalLM.from_pretrained("model/")',
    note: "Nothing to change in config.json.",
  };
}

function llamaBlock(order: Order): Draft {
  const { extension, main, length, facts, name } = order;
  const { rope_type, factor, original_max_position_embeddings: original } = extension?.config.rope_scaling ?? {};
  const file = /^[\w.-]+\.gguf$/.test(name) ? name : "model.gguf";
  const isYarn = rope_type === "yarn" && isScaled(order);
  const scaling = isYarn ? ` \\\n  --rope-scaling yarn --rope-scale ${factor} --yarn-orig-ctx ${original}` : "";
  const isShared = facts.isGguf || knownFamily("gguf", facts.family).pairing !== undefined;
  const key = isShared ? `${facts.family}.context_length` : "KEY";
  const max = extension?.config.max_position_embeddings;
  const capped = `A server built before August 2026 cuts its slots to the file's context length: add --override-kv ${key}=int:${max}${isShared ? "" : ", where KEY is the one in its log that ends in .context_length"}.`;
  const isLonger = length > (main?.config.max_position_embeddings ?? Infinity);
  const held =
    rope_type === undefined || facts.isGguf ? "" : "A GGUF file of this model has its scaling: nothing else to set. ";
  // an encoder reads a text in one physical batch
  const mode = ranksPairs(facts) ? "--reranking" : "--embedding";
  const whole = isEncoder(order) ? ` ${mode} -b ${length} -ub ${length}` : "";
  const other = isEncoder(order) ? "llama-embedding" : "llama-cli";
  const program = ranksPairs(facts) ? "" : `The same flags work for ${other}.`;
  const shift = isEncoder(order) ? "" : " Don't add --context-shift.";
  return {
    system: "llama.cpp",
    title: "llama.cpp",
    language: "shell",
    text: `llama-server -m ${file} -c ${length}${whole}${scaling}`,
    note: (isYarn
      ? `${program}${isLonger ? ` ${capped}` : ""}${shift}`
      : `${held || "Nothing else to set. "}${program}`
    ).trim(),
  };
}

function vllmBlock(order: Order): Draft {
  const { length } = order;
  const overrides = isScaled(order) ? ` \\\n  --hf-overrides '${oneLine(configLines(order))}'` : "";
  return {
    system: "vLLM",
    title: "vLLM",
    language: "shell",
    text: `vllm serve MODEL${isEncoder(order) ? " --runner pooling" : ""} --max-model-len ${length}${overrides}`,
    note: isScaled(order)
      ? "vLLM 0.11.1 removed --rope-scaling. --hf-overrides replaces the whole object, so it repeats the base."
      : "Nothing else to set.",
  };
}

function sglangBlock(order: Order): Draft {
  const { length } = order;
  const overrides = isScaled(order) ? ` \\\n  --json-model-override-args '${oneLine(configLines(order))}'` : "";
  return {
    system: "SGLang",
    title: "SGLang",
    language: "shell",
    text: `python -m sglang.launch_server --model-path MODEL${isEncoder(order) ? " --is-embedding" : ""} --context-length ${length}${overrides}`,
    note: isScaled(order) ? "The override replaces the whole object, so it repeats the base." : "Nothing else to set.",
  };
}

/** mlx-lm has no flags for RoPE, runs no encoders, and has its own keys where layers differ. */
function mlxBlocks(order: Order): Draft[] {
  if (isEncoder(order)) return [];
  const run = "mlx_lm.chat --model model/";
  const common = { system: "MLX", title: "MLX" } as const;
  if (!isScaled(order)) return [{ ...common, language: "shell", text: run, note: "Nothing to change in config.json." }];
  if (isSplit(order)) return [];
  const isNewer = readsParameters(order.facts) && isDict(valueOf(order.facts, "rope_parameters"));
  const text = JSON.stringify(isNewer ? configLines(order) : olderLines(order), null, 2);
  const note = `Replace these keys in config.json. Then ${run}.${isNewer ? "" : " Don't keep rope_parameters beside them."}`;
  return [{ ...common, title: "MLX: config.json", language: "json", text, note }];
}

/** Whether layers differ in their RoPE. */
const isSplit = (order: RopeOrder): boolean => order.groups.some(({ kind }) => kind !== order.main.kind);

/** The keys of config.json, with the names of transformers 4. */
function olderLines(order: RopeOrder): Dict {
  const { rope_theta, ...rest } = scalingLines(order, order.main);
  const { max_position_embeddings } = order.extension.config;
  return withPrefix(order.facts, { max_position_embeddings, rope_theta, rope_scaling: rest });
}

/** Both spellings: programs made for transformers 4 read the older one. */
function transformersBlocks(order: RopeOrder): Draft[] {
  const note = `Replace these keys in config.json, or set them on AutoConfig before from_pretrained().${isEncoder(order) ? ` Then max_seq_length of sentence-transformers is ${order.length}.` : ""}`;
  const block = (title: string, lines: object, more: string): Draft => {
    const text = JSON.stringify(lines, null, 2);
    return { system: "transformers", title, language: "json", text, note: note + more };
  };
  const newer = block("transformers 5: config.json", configLines(order), "");
  if (isSplit(order)) return [newer];
  return [
    newer,
    block(
      "transformers 4 and older programs: config.json",
      olderLines(order),
      " Don't keep rope_parameters beside them.",
    ),
  ];
}

/** The keys of config.json, with the names of transformers 5. */
function configLines(order: RopeOrder): Dict {
  const { groups, main, extension, facts } = order;
  const kinds = [...new Map(groups.map((group) => [group.kind, group])).values()];
  const parameters: Dict =
    kinds.length === 1
      ? scalingLines(order, main)
      : (Object.fromEntries(kinds.map((group) => [group.kind, scalingLines(order, group)])) as Dict);
  const { max_position_embeddings } = extension.config;
  return withPrefix(facts, { max_position_embeddings, rope_parameters: parameters });
}

/** Nests keys as deep as the file does: text_config. */
function withPrefix({ prefix }: Facts, lines: Dict): Dict {
  return prefix
    .split(".")
    .filter(Boolean)
    .reduceRight<Dict>((inner, key) => ({ [key]: inner }), lines);
}

/** The scaling of a group as a rope_parameters, with the keys of the file that the package names otherwise. */
function scalingLines({ extension, groups, scaling, facts }: RopeOrder, group: LayerGroup): Dict {
  const { rope_scaling, rope_theta } = extension.configs[groups.indexOf(group)]!;
  const { rope_type = "default", mrope_section: _, mrope_layout: __, ...keys } = rope_scaling ?? {};
  const kept = ["partial_rotary_factor", "mrope_section", "mrope_interleaved"].filter(
    (key) => scaling[key] !== undefined,
  );
  const share = valueOf(facts, "partial_rotary_factor");
  return {
    rope_type,
    rope_theta,
    ...keys,
    ...(share !== undefined && { partial_rotary_factor: share }),
    ...Object.fromEntries(kept.map((key) => [key, scaling[key]])),
  };
}

function ropewalkBlocks(order: Order): Draft[] {
  const { extension, main, length, facts, name, hasMemory } = order;
  const overrides = extension?.overrides;
  const source = facts.isGguf ? (/^[\w.-]+\.gguf$/.test(name) ? name : "model.gguf") : "model/";
  const options = JSON.stringify({ contextLength: length, ...(overrides && { rope: overrides }) }, null, 2);
  const { rope_type, factor, original_max_position_embeddings: original } = overrides?.rope_scaling ?? {};
  const map = overrides?.position_map;
  const flags = [
    rope_type && ` \\\n  --rope-type ${rope_type} --factor ${factor} --trained-length ${original}`,
    map && ` \\\n  --position-map ${mapAsOption(map)}`,
  ]
    .filter(Boolean)
    .join("");
  const isKept = rope_type !== undefined && rope_type === main?.rope_type;
  const kept = isKept ? "The other keys of the file's scaling are kept. " : "";
  const running = "While a model runs: session.retune(rope, { contextLength }) re-rotates the cached keys.";
  const { call, command, text, advice } = usesOf(order);
  return [
    {
      system: "Ropewalk",
      title: "Ropewalk",
      language: "js",
      text: `const model = await rw.model("${source}", ${options});`,
      note: `${kept}${isEncoder(order) || main === undefined ? `Then ${call}.` : running}`,
    },
    {
      system: "Ropewalk",
      title: "Ropewalk, command line",
      language: "shell",
      text: `npx ropewalk ${command} ${source} --context ${length}${flags}${text}`,
      note: `${kept}${advice}${hasMemory ? ` ${tokens(length)} tokens need the memory shown here.` : ""}`,
    },
    ...mapBlock(order, source),
  ];
}

/** A position map instead of a scaling: for a decoder that has neither. */
function mapBlock({ extension, main, length, runs }: Order, source: string): Draft[] {
  const served = main === undefined ? null : servedLength(main.config);
  if (!extension?.changes || served === null || served < 2 || length <= served || runs !== "generates") return [];
  if (main!.rope_type !== "default" || main!.config.position_map) return [];
  const position_map = mapFor("rerope", served, length);
  const options = { contextLength: length, rope: { position_map } };
  return [
    {
      system: "Ropewalk",
      title: "Ropewalk, with a position map instead",
      language: "js",
      text: `const model = await rw.model("${source}", ${JSON.stringify(options, null, 2)});`,
      note: `No frequency changes, so short texts stay as they are. Other systems don't have it. Far into a long text, a token takes up to twice the time. In the shell: --position-map ${mapAsOption(position_map)}.`,
    },
  ];
}

/** What Ropewalk does with a model, in code and in the shell. */
function usesOf(order: Order): { call: string; command: string; text: string; advice: string } {
  const truncate = "--truncate cuts texts that are longer.";
  if (isEncoder(order))
    return ranksPairs(order.facts)
      ? { call: "model.rank(query, documents)", command: "rank", text: ' "a query" "a document"', advice: truncate }
      : { call: "model.embed(texts)", command: "embed", text: ' "a text"', advice: truncate };
  // the chat template of safetensors files is in another file than their config
  const chats = order.facts.isGguf && typeof order.facts.values["tokenizer.chat_template"] === "string";
  const others = chats ? "Or generate and perplexity" : "Or perplexity, and chat if the model has a chat template";
  return {
    call: "model.generate(prompt)",
    command: chats ? "chat" : "generate",
    text: chats ? "" : ' "a text"',
    advice: `${others}: the flags are the same.`,
  };
}

function oneLine(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, " ");
}
