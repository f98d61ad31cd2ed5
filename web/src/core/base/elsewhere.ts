// Names of other packages for what is called otherwise here: transformers, transformers.js, llama.cpp, wllama, vLLM, Ollama, onnxruntime. The
// page docs/apps/coming_from.md follows from these tables, and a test compares it.
import * as advise from "./advice.js";
import type { Advised } from "./advice.js";

/** Names elsewhere, separated by spaces, by what they are here: an option or a value, or words that follow the name in a sentence. @internal */
export type Elsewhere = Readonly<Record<string, string>>;

/** Options of load(). @internal */
export const LOAD_ELSEWHERE: Elsewhere = {
  threads: "n_threads num_threads",
  "has no counterpart here: models run on the CPU": "device n_gpu_layers",
};

const CONTEXT = "n_ctx num_ctx max_model_len max_seq_len max_seq_length context_size ctx_size";
const PROGRESS = "progress_callback progressCallback";
const QUANTIZE = "dtype torch_dtype quantization load_in_8bit load_in_4bit";

/** Options of models, sessions, prompts and generations. @internal */
export const MODEL_ELSEWHERE: Elsewhere = {
  contextLength: CONTEXT,
  onProgress: PROGRESS,
  quantize: QUANTIZE,
  kv: "cache_type_k cache_type_v type_k type_v kv_cache_dtype flash_attn",
  rope: "rope_freq_base rope_freq_scale rope_scaling rope_scaling_type rope_theta hf_overrides yarn_orig_ctx",
  cache: "useCache use_cache cache_dir",
  token: "hf_token auth_token use_auth_token access_token",
  maxTokens: "max_length max_new_tokens max_completion_tokens n_predict nPredict num_predict",
  temperature: "temp",
  repetitionPenalty: "repeat_penalty penalty_repeat",
  frequencyPenalty: "penalty_freq",
  presencePenalty: "penalty_present",
  penaltyWindow: "repeat_last_n penalty_last_n",
  stop: "stopping_criteria stop_strings stop_sequences stopSequences antiprompt",
  stopTokens: "stop_token_ids eos_token_id",
  ignoreEnd: "ignore_eos",
  format: "grammar json_schema response_format guided_json guided_regex structured_outputs",
  draft: "assistant_model draft_model speculative_model",
  draftTokens: "draft_max num_assistant_tokens num_speculative_tokens",
  promptLookup: "prompt_lookup_num_tokens",
  variables: "chat_template_kwargs enable_thinking",
  signal: "abortSignal abort_signal",
  normalize: "normalize_embeddings",
  dimensions: "truncate_dim output_dimension",
  prompt: "prompt_name",
  "has no counterpart here: models run on the CPU, on as many cores as `threads` of load() says":
    "device device_map n_gpu_layers gpu_layers num_gpu",
  "is `contextLength` here, an option of rw.model() and session()": CONTEXT,
  "is `onProgress` here, an option of rw.model(), append() and chat()": PROGRESS,
  "is `quantize` here, an option of rw.model()": QUANTIZE,
  "is an option of load()": "threads build wasm",
  "is `threads` here, an option of load()": "n_threads num_threads numThreads nthreads",
  "isn't needed here: `temperature: 0` takes the most probable token": "do_sample",
  "has no counterpart here: texts are sampled token by token": "num_beams num_return_sequences",
  "isn't needed here: read the pieces with `for await`":
    "streamer callback_function onNewToken on_token onToken stream",
  "is a call here: `model.loadAdapter()`, whose result is the option `adapters` of a session":
    "lora lora_path lora_adapter",
};

/** Values of `pairing`. @internal */
export const PAIRING_ELSEWHERE: Elsewhere = {
  half: "rotate_half neox gpt_neox",
  interleaved: "norm gptj traditional",
};

/** Keys of a RoPE config. Those of its scaling are found by name. @internal */
export const KEY_ELSEWHERE: Elsewhere = {
  rope_theta: "base theta rope_freq_base",
  'is `pairing: "half"` here': "neox is_neox_style",
  "rope_scaling.rope_type": "type rope_type",
};

/** The row of a name: what it is here. Undefined if it isn't in the table, or if what it is isn't among `names`. @internal */
export function rowOf(
  name: string,
  table: Elsewhere,
  names: readonly string[] = Object.keys(table),
): string | undefined {
  const isHere = (row: string): boolean => row.includes(" ") || names.includes(row);
  return Object.keys(table).find((row) => table[row]!.split(" ").includes(name) && isHere(row));
}

/** Advice with what a name is here, as {@link rowOf} finds it. @internal */
export function hereIs(name: string, table: Elsewhere, names?: readonly string[]): Advised | undefined {
  const here = rowOf(name, table, names);
  if (here === undefined) return undefined;
  return here.includes(" ") ? advise.other(`\`${name}\` ${here}`) : advise.spell({ name: here, from: name });
}

/** What a value is here; undefined if it isn't in the table, or not among `names`. @internal */
export function valueElsewhere(value: unknown, names: readonly string[]): Advised | undefined {
  return typeof value === "string" ? hereIs(value, PAIRING_ELSEWHERE, names) : undefined;
}

/** For a tensor of onnxruntime in place of an array. @internal */
export function onnxHint(value: unknown): Advised | undefined {
  const tensor = (value ?? {}) as { data?: unknown; dims?: unknown };
  if (tensor.dims === undefined) return undefined; // our tensors have none, and `data` of one that was forged would throw
  const given = tensor.data;
  if (given === undefined) return undefined;
  const data = given instanceof BigInt64Array ? "Array.from(tensor.data, Number)" : "its `data`";
  return advise.other(`an onnxruntime tensor: pass ${data}, and its \`dims\` as the shape`);
}
