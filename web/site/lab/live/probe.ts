// Reads the queries and keys of a layer of the small model, by the package's own kernels. A copy of the model ends before the attention of that
// layer, with the layer's norm as its last norm and the layer's projections as its output matrix. So the copy's logits are the queries, keys
// and values of the newest token.
import config from "../../../../examples/small_model/config.json";
import tokenizer from "../../../../examples/small_model/tokenizer.json?url";
import weights from "../../../../examples/small_model/model.safetensors?url";
import type { RopeConfig, RopeOverrides } from "ropewalk";
import type { WorkerModel, WorkerRopewalk } from "ropewalk/worker";
import { fetchFile } from "../../page/small_model.js";

/** What the weights take, for buttons that download them. */
export const WEIGHTS_BYTES = 2_257_088;
export const LAYERS = config.num_hidden_layers;
export const HEADS = config.num_attention_heads;
export const HEAD_DIM = config.head_dim;
const HIDDEN = config.hidden_size;

interface Tensor {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** The vectors of one layer before they are rotated, and the RoPE that rotates them. */
export interface LayerVectors {
  /** [tokens, heads, headDim] */
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly rope: RopeConfig;
}

/** The small model's layers, opened one by one. */
export class Probe {
  readonly #models = new Map<number, Promise<WorkerModel>>();
  readonly #rw: WorkerRopewalk;
  readonly #tensors: ReadonlyMap<string, Tensor>;
  readonly #tokenizer: File;

  private constructor(rw: WorkerRopewalk, tensors: ReadonlyMap<string, Tensor>, tokenizerFile: File) {
    [this.#rw, this.#tensors, this.#tokenizer] = [rw, tensors, tokenizerFile];
  }

  /** Fetches the weights. */
  static async open(rw: WorkerRopewalk): Promise<Probe> {
    const [file, tokenizerFile] = await Promise.all([
      fetchFile(weights, "model.safetensors"),
      fetchFile(tokenizer, "tokenizer.json"),
    ]);
    return new Probe(rw, tensorsOf(await file.arrayBuffer()), tokenizerFile);
  }

  /** The tokens of a text, with the begin token. */
  async tokensOf(text: string): Promise<number[]> {
    return [...(await (await this.#model(0)).tokenizer.encode(text))];
  }

  /** Reads tokens under a scaling, and returns the vectors of a layer. */
  async read(layer: number, tokens: readonly number[], overrides: RopeOverrides): Promise<LayerVectors> {
    const session = await (await this.#model(layer)).session({ contextLength: tokens.length });
    try {
      await session.retune(overrides);
      const [q, k] = [new Float32Array(tokens.length * HIDDEN), new Float32Array(tokens.length * HIDDEN)];
      for (const [at, token] of tokens.entries()) {
        const [, vectors] = await Promise.all([session.append([token]), session.logits()]);
        q.set(vectors.subarray(0, HIDDEN), at * HIDDEN);
        k.set(vectors.subarray(HIDDEN, 2 * HIDDEN), at * HIDDEN);
      }
      return { q, k, rope: session.rope! };
    } finally {
      await session.dispose();
    }
  }

  #model(layer: number): Promise<WorkerModel> {
    let model = this.#models.get(layer);
    if (model !== undefined) return model;
    this.#models.set(layer, (model = this.#open(layer)));
    model.catch(() => this.#models.delete(layer)); // the next call tries again
    return model;
  }

  #open(layer: number): Promise<WorkerModel> {
    // a model has at least one layer: for the first one, a layer that adds nothing
    const layers = Math.max(1, layer);
    const settings = { ...config, num_hidden_layers: layers, tie_word_embeddings: false };
    const files = [
      new File([JSON.stringify(settings)], "config.json"),
      new File([safetensorsOf(this.#cutBefore(layer))], "model.safetensors"),
      this.#tokenizer,
    ];
    return this.#rw.model(files, { kv: { dtype: "f32" } });
  }

  #cutBefore(layer: number): Map<string, Tensor> {
    const tensor = (name: string): Tensor => this.#tensors.get(name)!;
    const cut = new Map([["model.embed_tokens.weight", tensor("model.embed_tokens.weight")]]);
    for (const [name, value] of this.#tensors) {
      const [, number, part] = /^model\.layers\.(\d+)\.(.*)$/.exec(name) ?? [];
      if (number === undefined || Number(number) >= Math.max(1, layer)) continue;
      const addsNothing = layer === 0 && (part === "self_attn.o_proj.weight" || part === "mlp.down_proj.weight");
      cut.set(name, addsNothing ? { ...value, bytes: new Uint8Array(value.bytes.length) } : value);
    }
    const own = (part: string): Tensor => tensor(`model.layers.${layer}.${part}.weight`);
    cut.set("model.norm.weight", own("input_layernorm"));
    const head = tensor("model.embed_tokens.weight");
    const bytes = new Uint8Array(head.bytes.length); // as many rows as tokens; those that nothing fills are zero
    let end = 0;
    for (const name of ["q", "k", "v"]) {
      const projection = own(`self_attn.${name}_proj`);
      bytes.set(projection.bytes, end);
      end += projection.bytes.length;
    }
    return cut.set("lm_head.weight", { ...head, bytes });
  }
}

/** The tensors of a safetensors file: the length of a JSON header, the header, and the data. */
function tensorsOf(file: ArrayBuffer): Map<string, Tensor> {
  const length = Number(new DataView(file).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length))) as Record<
    string,
    { dtype: string; shape: number[]; data_offsets: [number, number] }
  >;
  delete header["__metadata__"];
  return new Map(
    Object.entries(header).map(
      ([
        name,
        {
          dtype,
          shape,
          data_offsets: [from, to],
        },
      ]) => [name, { dtype, shape, bytes: new Uint8Array(file, 8 + length + from, to - from) }],
    ),
  );
}

function safetensorsOf(tensors: ReadonlyMap<string, Tensor>): Blob {
  let end = 0;
  const header = Object.fromEntries(
    [...tensors].map(([name, { dtype, shape, bytes }]) => {
      const from = end;
      end += bytes.length;
      return [name, { dtype, shape, data_offsets: [from, end] }];
    }),
  );
  const json = new TextEncoder().encode(JSON.stringify(header));
  const length = new BigUint64Array([BigInt(json.length)]);
  return new Blob([length, json, ...[...tensors.values()].map(({ bytes }) => bytes as Uint8Array<ArrayBuffer>)]);
}
