// A user's program, compiled strictly against the installed package. Lines after @ts-expect-error are mistakes that the types catch.
import {
  type Build,
  CACHE_DTYPES,
  type CosSinTable,
  type DecisionAnswer,
  type DecisionQuestions,
  describe,
  type Description,
  type DType,
  type FrequencyPlan,
  KvCache,
  type KvCacheOptions,
  type LinearState,
  load,
  type LoadOptions,
  type Model,
  type Pairing,
  type PositionInput,
  type PositionScheme,
  type CheckResult,
  type Rope,
  type RopeConfig,
  ropeConfig,
  ropeLayers,
  RopewalkError,
  type Ropewalk,
  type RotateOptions,
  Tensor,
} from "ropewalk";
import { type Diagnosis, diagnose, type Finding } from "ropewalk/doctor";
import { load as loadInline } from "ropewalk/inline";
import { load as loadInlineWorker } from "ropewalk/worker/inline";
import { type ChatCompletion, openai } from "ropewalk/openai";
import { type FoundRope, needleTexts, searchRope, type SearchEvaluation } from "ropewalk/search";
import { load as loadInWorker, type WorkerModel, type WorkerRopewalk } from "ropewalk/worker";

export async function useEverything(signal: AbortSignal): Promise<string> {
  const options: LoadOptions = { build: "auto", signal, wasm: fetch("/ropewalk.wasm") };
  const rw: Ropewalk = await load(options);
  const inline: Ropewalk = await loadInline();
  const build: Build = inline.build;
  const inlineWorker: WorkerRopewalk = await loadInlineWorker();
  const ownWorker: WorkerRopewalk = await loadInWorker({ workerUrl: "/worker_thread.js", wasm: "/ropewalk.wasm" });
  await Promise.all([inlineWorker.dispose(), ownWorker.dispose()]);
  const bytes: number = rw.memoryBytes;

  const config: RopeConfig = ropeConfig(
    { model_type: "llama" },
    { overrides: { rope_scaling: { rope_type: "yarn", factor: 4 } } },
  );
  const diagnosis: Diagnosis = await diagnose(rw, { model_type: "llama" }, { length: 100000, signal });
  const found: readonly Finding[] = diagnosis.findings;
  const layers: boolean[] = ropeLayers({ model_type: "llama", num_hidden_layers: 2 });
  const byHand: RopeConfig = {
    head_dim: 128,
    pairing: "half",
    rope_parameters: { rope_type: "llama3", factor: 8, low_freq_factor: 1 },
  };

  using rope: Rope = rw.rope(config);
  using tensor = rw.tensor([1, 32, 512, 128], "bf16");
  const same: Tensor = rope.rotate(tensor, { layout: "bhtd", positions: new Int32Array(512), inverse: true });
  const floats: Float32Array = rope.rotate(new Float32Array(128), {
    layout: "thd",
    shape: [1, 1, 128],
    positions: 4096,
  });
  const halves: Uint16Array = rope.rotate(new Uint16Array(128), {
    layout: "thd",
    shape: [1, 1, 128],
    positions: [0.5],
    dtype: "f16",
    out: new Uint16Array(128),
  });
  rope.rerotate(floats, {
    layout: "thd",
    shape: [1, 1, 128],
    from: { positions: 3 },
    to: { positions: 0, rope, seqLen: 10 },
  });

  const plan: FrequencyPlan = rope.plan(4096);
  const frequencies: Float64Array = plan.inv_freq;
  const table: CosSinTable = rope.table(512, { dtype: "f16", layout: "interleaved" });
  const written = rope.table([1, 2], { out: { cos: tensor, sin: tensor } });
  const cos: Tensor = written.cos;
  const decay: Float64Array = rope.decay({ count: 10, curve: "bound" });
  const negative: number | null = rope.firstNegativeDistance(65536);
  const temperature: Float64Array = rope.queryTemperature(8192);
  const description: Description = describe(byHand, 8192);
  const base: number | null = rw.smallestBase(128, 4096);
  const weights: Float32Array = rw.convertPairing(new Float32Array(128), {
    heads: 1,
    head_dim: 128,
    from: "interleaved",
    to: "half",
  });

  const q = new Float32Array(128);
  const output: Float32Array = rw.attention(q, q, q, {
    layout: "thd",
    shape: [1, 1, 128],
    rope,
    window: null,
  });
  using queries = rw.tensor([1, 1, 128]);
  using outputTensor: Tensor = rw.attention(queries, q, new Uint16Array(128), {
    layout: "thd",
    kvShape: [1, 1, 128],
    kvDtype: "bf16",
    sinks: [0],
  });
  const mixedOutput: Float32Array = rw.attention(queries, queries, queries, { layout: "thd", out: q });
  const scheme: PositionScheme = { scheme: "t5", table: new Float32Array(32) };
  const slopes: Float32Array = rw.alibiSlopes(8);
  const buckets: Int32Array = rw.t5Buckets([0, -1], { buckets: 32 });
  const sines: Float32Array = rw.sinusoidalTable(512, 64, { base: 1e4 });

  const cacheOptions: KvCacheOptions = {
    rope,
    kvHeads: 8,
    layers: [{}, { rope: null, headDim: 64 }],
    maxLength: 4096,
    dtype: CACHE_DTYPES[3],
    keys: "raw",
  };
  using cache: KvCache = rw.kvCache(cacheOptions);
  cache.append({ q, k: q, v: q, layout: "thd", shape: [1, 1, 128], positions: 5 });
  const attended: Float32Array = cache.attend(q, { layout: "thd", shape: [1, 1, 128], sinkTokens: 4, window: 512 });
  const check: CheckResult = cache.canRetune({ rope: config, layers: [0] });
  const reason: string = check.possible ? "" : `${check.code} ${check.field}: ${check.reason}`;
  cache.retune({ rope: config, positions: 0 });
  cache.shift({ keep: 4, discard: 16 });
  cache.truncate(cache.length - 1);
  const saved: Uint8Array = cache.save();
  cache.restore(saved, { sequence: 0 });
  const stored: { k: Float32Array; v: Float32Array } = cache.read({ layer: 1, count: 1 });
  const cacheBytes: number = rw.kvCacheBytes({ ...cacheOptions, length: 100 }) + cache.bytes;
  using state: LinearState = rw.linearState({ heads: 8, headDim: 128 });
  const linear: Float32Array = state.append(q, q, q);
  const linearOutput: Tensor = rw.linearAttention(queries, queries, queries, { layout: "thd", rope, out: queries });

  const pairings: readonly Pairing[] = ["half", "interleaved", "interleaved_to_half"];
  const dtype: DType = tensor.dtype;
  const positions: PositionInput = plan.axes === 1 ? 0 : [0, 1, 2];
  const given: RotateOptions = { layout: "bthd", positions };

  try {
    // @ts-expect-error an unknown layout
    rope.rotate(tensor, { layout: "hbtd", positions: 0 });
    // @ts-expect-error positions are required
    rope.rotate(tensor, { layout: "bhtd" });
    // @ts-expect-error plain arrays can't be rotated
    rope.rotate([1, 2, 3], { layout: "thd", positions: 0 });
    // @ts-expect-error an unknown element type
    rw.tensor([4], "f64");
    // @ts-expect-error the pairing is required
    rw.rope({ head_dim: 64 });
    // @ts-expect-error an unknown config key
    rw.rope({ head_dim: 64, pairing: "half", theta: 1e4 });
    // @ts-expect-error a plan's fields are numbers, not strings
    plan.attention_factor = "1";
    // @ts-expect-error a shape is read only
    tensor.shape[0] = 2;
    // @ts-expect-error queries are f32
    rw.attention(new Uint16Array(128), q, q, { layout: "thd" });
    // @ts-expect-error an unknown scheme
    rw.attention(q, q, q, { layout: "thd", position: { scheme: "rope" } });
    // @ts-expect-error maxLength is required
    rw.kvCache({ rope, kvHeads: 8 });
    // @ts-expect-error values are required
    cache.append({ k: q, layout: "thd" });
    // @ts-expect-error caches are created by rw.kvCache
    new KvCache();
    // @ts-expect-error tensors are created by rw.tensor
    new Tensor();
  } catch (error) {
    if (error instanceof RopewalkError && error.code === "INVALID_ARGUMENT") return error.field;
    throw error;
  }
  // @ts-expect-error an unknown code
  if (new RopewalkError("INVALID_CONFIG", "", "").code === "BROKEN") throw new Error();
  const more = [
    output,
    outputTensor,
    mixedOutput,
    scheme,
    slopes,
    buckets,
    sines,
    attended,
    reason,
    stored,
    cacheBytes,
    linear,
    linearOutput,
  ];
  return String([
    ...more,
    build,
    bytes,
    layers,
    found,
    same,
    halves,
    frequencies,
    table,
    cos,
    decay,
    negative,
    temperature,
    description,
    base,
    weights,
    pairings,
    dtype,
    given,
  ]);
}

export async function useWorker(signal: AbortSignal): Promise<string> {
  await using rw: WorkerRopewalk = await loadInWorker({ signal });
  await using model: WorkerModel = await rw.model("model.gguf", { signal, onProgress: ({ loaded }) => loaded });
  await using session = await model.session();
  await session.append("Once upon a time");
  const tokens: number = model.tokenizer.vocabularySize;
  let text = String(tokens);
  for await (const { text: piece } of session.generate({ maxTokens: 8, whenFull: "shift" })) text += piece;
  await session.extend({ contextLength: 512 });
  // @ts-expect-error extend() keeps the checkpoints
  await session.extend({ checkpoints: { count: 2 } });
  // @ts-expect-error a temporary session has none to choose
  model.generate("Once", { checkpoints: { count: 2 } });
  return text;
}

export async function useDecisions(model: Model): Promise<string> {
  const { answers } = await model.decide("a state", {
    topic: { type: "choice", criteria: ["a", "b"] },
    urgency: { type: "score", criteria: ["low", "high"] },
    angry: { type: "noul", instructions: "Is the writer angry?" },
  });
  const level: number = answers.urgency.score;
  const probability: number = answers.angry.probability;
  // @ts-expect-error no such question
  const none: unknown = answers.other;
  const questions: DecisionQuestions = new Map([["mine", { type: "choice", criteria: ["a", "b"] }]]);
  const mine: DecisionAnswer | undefined = (await model.decide({ a: 1 }, questions)).answers["mine"];
  return [answers.topic.choice, level, probability, none, mine?.type].join();
}

export async function useSearch(rw: Ropewalk, model: WorkerModel | Model, signal: AbortSignal): Promise<FoundRope> {
  const texts = await needleTexts(model.tokenizer, { length: 4096, filler: "A text." });
  const evaluated: SearchEvaluation[] = [];
  const onEvaluation = (evaluation: SearchEvaluation): number => evaluated.push(evaluation);
  const { rope, compared } = await searchRope(rw, model, { length: 4096, texts, evaluated, onEvaluation, signal });
  (model as Model).session().retune(compared[0]?.rope ?? rope);
  return rope;
}

export async function useOpenAi(model: WorkerModel | Model, signal: AbortSignal): Promise<string> {
  using client = openai(model);
  const body = { messages: [{ role: "user", content: "Hello" }], max_tokens: 8 };
  const answer: ChatCompletion = await client.chat.completions.create(body, { signal });
  let text = answer.choices[0]?.message.content ?? "";
  for await (const { choices } of await client.chat.completions.create({ ...body, stream: true }))
    for (const call of choices[0]?.delta.tool_calls ?? []) text += call.function.arguments;
  return text;
}
