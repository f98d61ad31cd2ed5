// Reads sequences of tokens that begin alike: what they share is read once, and the rest in one batch of steps.
import { commonLength } from "../../../core/base/lists.js";
import { BY_LENGTH } from "../../../core/config/rope_fields.js";
import type { ModelPlan } from "../plan/model_plan.js";
import { EventLoopYielder } from "../run/event_loop.js";
import { BATCH_TOKENS, type CacheSettings, type ModelCore } from "../run/model_core.js";
import type { AdaptersInUse } from "../run/adapters_in_use.js";
import type { TextMemory } from "../run/text_memory.js";
import { SessionText } from "../session/text.js";

/** A sequence, and the tokens whose ln p after it is wanted. @internal */
export interface Sequence {
  readonly tokens: Int32Array;
  readonly next: readonly number[];
}

/** How sequences are read. @internal */
export interface Reading {
  readonly core: ModelCore;
  readonly cacheSettings: CacheSettings;
  readonly adapters: AdaptersInUse;
  readonly signal: AbortSignal | undefined;
}

/** ln p of the next tokens of each sequence, and the number of tokens that were read. @internal */
export interface SequenceResults {
  readonly logprobs: readonly (readonly number[])[];
  readonly read: number;
}

/** Texts that are read together. Each has a memory of its own, and its logits are in memory with those of the others. */
const MOST_TOGETHER = 16;

/** Tokens after those of another node, and the sequences that end there. */
interface Node {
  readonly tokens: Int32Array;
  readonly ends: readonly number[];
  readonly children: readonly Node[];
}

/** A node whose tokens are being read. */
interface Branch {
  readonly node: Node;
  readonly memory: TextMemory;
  done: number;
}

/**
 * The results are those of sessions that each read one sequence, to the last bit.
 * @throws OUT_OF_MEMORY, DISPOSED, and as forward(); rejects with the signal's reason
 * @internal
 */
export async function readSequences(sequences: readonly Sequence[], reading: Reading): Promise<SequenceResults> {
  const { core, cacheSettings, adapters } = reading;
  core.checkAlive();
  if (changesWithLength(core.plan)) return readApart(sequences, reading);
  const reader = new SequenceReader(sequences, reading);
  const memory = core.newMemory(cacheSettings, { adapters });
  try {
    await reader.readChildren(memory, treeOf(sequences));
  } finally {
    memory.dispose();
  }
  return reader;
}

/** Whether keys depend on the length of their text, so that texts can't share them. */
function changesWithLength({ layers }: ModelPlan): boolean {
  return layers.some(({ rope }) => BY_LENGTH.includes(rope?.rope_scaling?.rope_type ?? "default"));
}

async function readApart(sequences: readonly Sequence[], reading: Reading): Promise<SequenceResults> {
  const { core, cacheSettings, adapters, signal } = reading;
  const logprobs: number[][] = [];
  for (const sequence of sequences) {
    const settings = { spacing: BATCH_TOKENS, count: 0, adapters };
    const text = new SessionText(core, cacheSettings, sequence.tokens.length, settings);
    try {
      await text.append(sequence.tokens, signal && { signal });
      logprobs.push(logprobsAt(core, text.freshLogits(), sequence));
    } finally {
      text.dispose();
    }
  }
  return { logprobs, read: sequences.reduce((sum, { tokens }) => sum + tokens.length, 0) };
}

/** ln p of the tokens that are wanted, from logits at an address. */
function logprobsAt({ heap, vocabularySize: size }: ModelCore, logits: number, { next }: Sequence): number[] {
  const normalizer = heap.module.log_normalizer(logits, size);
  const floats = heap.floats(logits, size);
  return next.map((token) => floats[token]! - normalizer);
}

/** The children of the empty text: sequences that begin with the same token are in one of them. */
function treeOf(sequences: readonly Sequence[], from = 0, indices = [...sequences.keys()]): Node[] {
  const groups = new Map<number, number[]>();
  for (const index of indices) {
    const token = sequences[index]!.tokens[from]!;
    const group = groups.get(token);
    if (group === undefined) groups.set(token, [index]);
    else group.push(index);
  }
  return [...groups.values()].map((group) => {
    const [first, ...others] = group.map((index) => sequences[index]!.tokens.subarray(from));
    const length = others.reduce((least, tokens) => Math.min(least, commonLength(first!, tokens)), first!.length);
    const to = from + length;
    const isEnd = (index: number): boolean => sequences[index]!.tokens.length === to;
    const longer = group.filter((index) => !isEnd(index));
    return { tokens: first!.slice(0, length), ends: group.filter(isEnd), children: treeOf(sequences, to, longer) };
  });
}

class SequenceReader implements SequenceResults {
  readonly logprobs: number[][];
  read = 0;
  readonly #sequences: readonly Sequence[];
  readonly #reading: Reading;
  readonly #yielder = new EventLoopYielder();

  constructor(sequences: readonly Sequence[], reading: Reading) {
    this.logprobs = sequences.map(() => []);
    this.#sequences = sequences;
    this.#reading = reading;
  }

  /** Reads nodes whose texts continue the one of a memory, and all that continues them. The memory of the last node is that one itself. */
  async readChildren(memory: TextMemory, nodes: readonly Node[]): Promise<void> {
    for (let first = 0; first < nodes.length; first += MOST_TOGETHER) {
      const group = nodes.slice(first, first + MOST_TOGETHER);
      const isLast = first + MOST_TOGETHER >= nodes.length;
      const branches: Branch[] = [];
      try {
        for (const [i, node] of group.entries())
          branches.push({ node, memory: isLast && i === group.length - 1 ? memory : this.#copy(memory), done: 0 });
        await this.#readBranches(branches);
        for (const branch of branches) await this.readChildren(branch.memory, branch.node.children);
      } finally {
        for (const branch of branches) if (branch.memory !== memory) branch.memory.dispose();
      }
    }
  }

  #copy(memory: TextMemory): TextMemory {
    const { core, cacheSettings, adapters } = this.#reading;
    const copy = core.newMemory({ ...cacheSettings, keys: memory.cache.keys }, { adapters });
    try {
      copy.copy(memory);
      return copy;
    } catch (error) {
      copy.dispose();
      throw error;
    }
  }

  /** Reads all tokens of the branches, as many in each pass as the model reads of one text. */
  async #readBranches(branches: readonly Branch[]): Promise<void> {
    const { core, signal } = this.#reading;
    for (let open = branches; open.length > 0; open = open.filter(({ node, done }) => done < node.tokens.length)) {
      signal?.throwIfAborted();
      core.checkAlive();
      let left = BATCH_TOKENS;
      const pass: { branch: Branch; memory: TextMemory; tokens: Int32Array }[] = [];
      for (const branch of open) {
        if (left === 0) break;
        const tokens = branch.node.tokens.subarray(branch.done, branch.done + left);
        left -= tokens.length;
        pass.push({ branch, memory: branch.memory, tokens });
      }
      core.forwardTexts(pass);
      for (const { branch, tokens } of pass) {
        branch.done += tokens.length;
        this.read += tokens.length;
      }
      this.#keepLogprobs(pass.map(({ branch }) => branch));
      await this.#yielder.yieldIfDue();
    }
    signal?.throwIfAborted();
  }

  /** Keeps what is wanted after the branches of the last pass that are read to their end. */
  #keepLogprobs(branches: readonly Branch[]): void {
    const endsOf = ({ node, done }: Branch): readonly number[] => (done === node.tokens.length ? node.ends : []);
    if (branches.every((branch) => endsOf(branch).length === 0)) return;
    const { heap, vocabularySize: size } = this.#reading.core;
    heap.borrow(branches.length * size * 4, (logits) => {
      const addressOf = (i: number): number => logits + i * size * 4;
      this.#reading.core.writeLastLogits(branches.map((_, i) => addressOf(i)));
      for (const [i, branch] of branches.entries())
        for (const index of endsOf(branch))
          this.logprobs[index] = logprobsAt(this.#reading.core, addressOf(i), this.#sequences[index]!);
    });
  }
}
