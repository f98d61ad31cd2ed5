// The state of a session: the tokens of a text, their keys and values, and the logits of the next token.
import * as advise from "../../../core/base/advice.js";
import { wholeNumber } from "../../../core/base/checks.js";
import { fail } from "../../../core/base/errors.js";
import type { KvCacheCore } from "../../../core/cache/core.js";
import { save as saveCache } from "../../../core/cache/image.js";
import type { KeyMode } from "../../../core/cache/options.js";
import { shift as shiftCache } from "../../../core/cache/retune.js";
import type { RopeConfig } from "../../../core/config/types.js";
import { Owned } from "../../../core/memory/owned.js";
import { type AdaptersInUse, checkAdaptersAlive, withAdapters } from "../run/adapters_in_use.js";
import { EventLoopYielder } from "../run/event_loop.js";
import { BATCH_TOKENS, type CacheSettings, inBatches, type ModelCore } from "../run/model_core.js";
import { checkAttends } from "./cached_rows.js";
import { LayerChanges } from "./layer_changes.js";
import { checkWatchable, type LayerWatcher, type Recorder } from "../run/layer_walk.js";
import type { CheckpointSettings, RestoredRope, SessionAppendOptions, TextSettings } from "./options.js";
import { keyModeOf, restoreMemory, type SavedImages, type SavedSession, writeSession } from "./image.js";
import type { TextMemory } from "../run/text_memory.js";
import type { BatchedText } from "../run/token_batches.js";
import { checkMovable } from "./supported_length.js";
import { copyRopes, setRopes, TextRopes } from "./text_ropes.js";
import { TextTokens } from "./text_tokens.js";
import { freeLogits, TokensAhead } from "./tokens_ahead.js";

/** Doesn't check arguments, and expects that its calls never overlap. @internal */
export class SessionText implements BatchedText {
  contextLength: number;
  readonly core: ModelCore;
  readonly #cacheSettings: CacheSettings;
  readonly #logits: Owned;
  /** The keys, values and states of the tokens, and of those ahead. */
  #held: TextMemory;
  #ahead: TokensAhead | undefined;
  readonly #tokens = new TextTokens(() => this.ropes.samePlanTo(this.core.heap));
  readonly ropes: TextRopes;
  /** Length of the longer text whose LongRoPE factors the keys still have. Most often it is that long again before they are read. */
  #factorsOf: number | undefined;
  #hasFreshLogits = false; // whether #logits follow the last token
  #hidden: Float32Array | undefined;
  readonly #checkpoints: CheckpointSettings;
  /** Length at the last checkpoint, or before it if there is none. */
  #checkpointLength = 0;
  readonly changes: LayerChanges;
  /** Recorder of the running trace. */
  recorder: Recorder | undefined;

  constructor(core: ModelCore, cacheSettings: CacheSettings, contextLength: number, settings: TextSettings) {
    this.core = core;
    this.#cacheSettings = cacheSettings;
    this.#checkpoints = settings;
    this.contextLength = contextLength;
    this.#held = this.#newMemory(settings.adapters);
    this.changes = new LayerChanges(core, () => {
      this.checkAlive();
      checkAdaptersAlive(this.adapters);
    });
    this.ropes = new TextRopes(this.freshCache(), core.plan);
    try {
      const address = core.heap.allocate(core.vocabularySize * 4);
      this.#logits = new Owned(core.heap, address, "session", freeLogits, "model.session()");
    } catch (error) {
      this.#held.dispose();
      throw error;
    }
  }

  /** The memory of an empty text. A restored one has keys as they were saved, raw or rotated, unless the model's options say how they are stored. */
  #newMemory(adapters: AdaptersInUse, keys?: KeyMode): TextMemory {
    const { count: checkpoints } = this.#checkpoints;
    return this.core.newMemory({ ...(keys && { keys }), ...this.#cacheSettings }, { checkpoints, adapters });
  }

  /** Keys, values and states of the tokens, without those ahead. Reads the whole text again if its keys have other factors than the RoPE has now. */
  freshMemory(): TextMemory {
    this.#forgetAhead();
    if (this.#factorsOf !== undefined) {
      const tokens = this.#tokens.part(0);
      this.rewind(0);
      setRopes(this.#held.cache, this.ropes.requested, tokens.length);
      inBatches(tokens, (batch, isLast) => this.#forward(batch, isLast));
    }
    return this.#held;
  }

  #forgetAhead(): void {
    if (this.#ahead === undefined) return;
    this.#ahead.dispose();
    this.#ahead = undefined;
    this.#held.rewind(this.length);
    this.#changed(); // the model has read other tokens since the last one of the text
  }

  /** Active watchers of layers. */
  get #watchers(): LayerWatcher[] {
    return [...(this.changes.isEmpty ? [] : [this.changes]), ...(this.recorder === undefined ? [] : [this.recorder])];
  }

  /** The cache of {@link freshMemory}. */
  freshCache(): KvCacheCore {
    return this.freshMemory().cache;
  }

  /** Throws DISPOSED if the session or the model is disposed. */
  checkAlive(): void {
    this.#logits.check();
    this.core.checkAlive();
  }

  get length(): number {
    return this.#tokens.length;
  }

  /** Frozen: callers keep it. */
  get tokens(): readonly number[] {
    return this.#tokens.shown;
  }

  lastTokens(count: number): number[] {
    return this.#tokens.last(count);
  }

  /** Bytes of wasm memory that the keys, values and states use now. */
  get bytes(): number {
    this.#logits.check();
    return this.#held.bytes;
  }

  /** Address of the logits after the last token. If the cache has changed since, the last token is read again. */
  freshLogits(): number {
    this.checkAlive();
    if (this.length === 0)
      fail("INVALID_ARGUMENT", "session", "is empty", advise.call({ calls: ["append"], first: true }));
    if (!this.#hasFreshLogits || this.#factorsOf !== undefined) this.#readAgain(this.length - 1, this.length);
    return this.logitsAddress;
  }

  /** Hidden state of the last token, a copy. */
  hidden(): Float32Array {
    this.freshLogits();
    return this.#hidden!.slice();
  }

  /** As Session.attention(). */
  attention(layer: number): Float32Array[] {
    checkAttends(this.core.plan, layer);
    if (this.#ahead !== undefined || !this.core.hasRead(this.freshCache())) this.#changed(); // the model has read other tokens since
    this.freshLogits();
    return this.core.attention(this.freshCache(), layer, this.length);
  }

  /** What the text is read with. */
  get adapters(): AdaptersInUse {
    return this.#held.adapters;
  }

  /** Lets `change` set what is done between the layers, from the next token on. */
  changeLayers(change: (changes: LayerChanges) => void): void {
    checkWatchable(this.core.plan);
    change(this.changes);
    this.#forgetAhead();
  }

  async append(added: Int32Array, { signal, onProgress }: SessionAppendOptions = {}): Promise<void> {
    this.checkAlive();
    if (added.length === 1 && this.recorder === undefined && this.hasAhead(added[0]!)) {
      this.#takeAhead(added[0]!);
      return;
    }
    const length = this.length + added.length;
    const needsReread = this.ropes.changeFactors(this.#factorsOf ?? this.length, length);
    const reread = needsReread ? this.length : 0;
    const tokens = needsReread ? Int32Array.from([...this.tokens, ...added]) : added;
    if (needsReread) this.rewind(0);
    this.#factorsOf = undefined;
    if (this.length === 0) setRopes(this.freshCache(), this.ropes.requested, length);
    const readsOne = tokens.length === 1 && this.length > 0 && this.#watchers.length === 0;
    const yielder = new EventLoopYielder();
    for (let first = 0; first < tokens.length; first += BATCH_TOKENS) {
      if (first >= reread) signal?.throwIfAborted(); // an abort must not lose tokens that were read before
      this.checkAlive();
      if (readsOne) await this.core.batches.read(this, tokens[0]!);
      else this.#forward(tokens.slice(first, first + BATCH_TOKENS), first + BATCH_TOKENS >= tokens.length);
      onProgress?.({ done: Math.min(first + BATCH_TOKENS, tokens.length), total: tokens.length });
      await yielder.yieldIfDue();
    }
    signal?.throwIfAborted();
  }

  /** Whether tokens can be read before they are certain: recurrent layers couldn't go back. */
  get canReadAhead(): boolean {
    return !this.#held.hasStates;
  }

  /**
   * Reads the next token and guesses of those after it at once. They aren't part of the text until append() is called
   * with each. Any other call forgets them.
   */
  readAhead(token: number, guesses: readonly number[]): void {
    this.checkAlive();
    const tokens = Int32Array.of(token, ...guesses);
    if (this.length === 0 || this.ropes.changeFactors(this.length, this.length + tokens.length)) return;
    const memory = this.freshMemory();
    this.#tokens.reached(this.length + tokens.length);
    try {
      this.core.forward(memory, tokens, this.#watchers, this.length);
      this.#ahead = new TokensAhead(this.core, tokens);
    } catch (error) {
      memory.rewind(this.length);
      throw error;
    }
  }

  /** Whether append() finds this token read already. */
  hasAhead(token: number): boolean {
    return this.#ahead?.next === token;
  }

  #takeAhead(token: number): void {
    const ahead = this.#ahead!;
    this.#tokens.add([token]);
    this.#changed();
    this.#hidden = ahead.take(this.logitsAddress);
    this.#hasFreshLogits = true;
    if (ahead.next === undefined) {
      ahead.dispose();
      this.#ahead = undefined;
    }
  }

  /**
   * Removes all tokens after the first `length`. With recurrent layers, goes back to the last known state before them,
   * and reads the tokens from there on again.
   */
  rewind(length: number): void {
    this.#withFactors(() => this.#readAgain(length, length));
  }

  /** Keeps the tokens of a prompt's beginning that a new text would have read alike; with recurrent layers, up to a known state among them. */
  keepBeginning(prompt: Int32Array): void {
    const same = this.#tokens.exactFor(prompt);
    if (same < this.length) this.#withFactors(() => this.#goBack(same));
  }

  /** Removes tokens. If LongRoPE has other factors for those that are left, the keys keep theirs until they are read. */
  #withFactors(remove: () => void): void {
    const from = this.#factorsOf ?? this.length;
    this.#factorsOf = undefined;
    remove();
    if (this.length > 0 && this.ropes.changeFactors(from, this.length)) this.#factorsOf = from;
  }

  shift(keep: number, discard: number): void {
    if (this.length === 0) fail("INVALID_ARGUMENT", "session", "is empty, so there is nothing to discard");
    wholeNumber(keep, 0, this.length, "keep");
    if (keep === this.length) fail("INVALID_ARGUMENT", "discard", `has no tokens left: keep is ${keep}, all of them`);
    wholeNumber(discard, 1, this.length - keep, "discard");
    if (keep + discard === this.length) {
      this.rewind(keep); // nothing moves
      return;
    }
    checkMovable(this.core.plan.config);
    if (this.freshCache().layers.length > 0) shiftCache(this.freshCache(), { keep, discard });
    this.freshMemory().shiftStates(keep, discard);
    // LongRoPE's keys keep their factors, and a state that has seen the lost tokens may be the one after the first `keep`
    const isExact = !this.ropes.changeFactors(this.length, this.length - discard);
    this.#tokens.remove(keep, discard, isExact ? Math.max(0, keep - Number(this.#held.hasStates)) : 0);
    this.#checkpointLength = Math.min(this.#checkpointLength, this.length);
    this.#changed();
  }

  /** Lets rewind() return to this length without reading tokens again. */
  keepCheckpoint(): void {
    this.freshMemory().keepCheckpoint();
    this.#checkpointLength = this.length;
  }

  /** Sets the RoPE of a group of layers. */
  retune(group: number, rope: Readonly<RopeConfig>): void {
    this.ropes.retune(this.freshCache(), group, rope, this.length);
    this.#changed();
  }

  save(): Uint8Array<ArrayBuffer> {
    const cache = saveCache(this.freshCache(), 0);
    const states = this.freshMemory().saveStates();
    const { tokens, core, adapters, ropes } = this;
    const exact = this.#tokens.exactFor(tokens);
    const saved = { model: withAdapters(core.fingerprint, adapters), tokens, ropes: ropes.requested };
    return writeSession({ ...saved, ...(exact < tokens.length && { exact }) }, cache, states);
  }

  /** Builds a new memory, and only then replaces the old one. Keys that other RoPEs have rotated are re-rotated. */
  restore({ tokens, ropes: saved, exact }: SavedSession, images: SavedImages, rope: RestoredRope): void {
    const ropes = rope === "model" ? this.ropes.model : saved;
    const memory = this.#newMemory(this.adapters, keyModeOf(images.cache));
    try {
      restoreMemory(memory, tokens.length, () => setRopes(memory.cache, ropes, tokens.length), images);
    } catch (error) {
      memory.dispose();
      throw error;
    }
    this.#factorsOf = undefined;
    this.freshMemory().dispose();
    this.#held = memory;
    this.#checkpointLength = 0;
    this.#tokens.replace(tokens, exact);
    this.ropes.replace(ropes);
    this.#changed();
  }

  /**
   * Makes this text, which must be empty, a copy of another with the same model, cache settings and adapters. They share keys and values
   * until one of them changes (kv_sequence.h), and checkpoints.
   */
  copy(other: SessionText): void {
    const memory = other.freshMemory();
    if (memory.cache.keys !== this.freshCache().keys) {
      const empty = this.#newMemory(memory.adapters, memory.cache.keys);
      this.#held.dispose();
      this.#held = empty;
    }
    copyRopes(memory.cache, this.freshCache());
    this.#held.copy(memory);
    this.#checkpointLength = Math.min(other.#checkpointLength, other.length);
    this.#tokens.copy(other.#tokens);
    this.ropes.replace(other.ropes.requested);
    this.changes.copy(other.changes);
    this.#changed();
    if (!other.#hasFreshLogits) return;
    const { heap, vocabularySize } = this.core;
    heap.floats(this.logitsAddress, vocabularySize).set(heap.floats(other.logitsAddress, vocabularySize));
    this.#hidden = other.#hidden;
    this.#hasFreshLogits = true;
  }

  dispose(): void {
    this.core.batches.leave(this);
    this.#ahead?.dispose();
    this.#ahead = undefined;
    this.#held.dispose();
    this.#logits.dispose();
  }

  /** Goes back to the last known state of the first `length` tokens, and reads the tokens from there to `end` again. */
  #readAgain(length: number, end: number): void {
    this.core.checkIdle();
    const tokens = this.#tokens.part(0, end);
    this.#goBack(length);
    const again = tokens.subarray(this.length);
    inBatches(again, (batch, isLast) => this.#forward(batch, isLast)); // with logits, or reading a token for them would read all of these again
  }

  /** Goes back to the last known state of the first `length` tokens. */
  #goBack(length: number): void {
    const known = this.freshMemory().rewind(length);
    this.#tokens.cut(known);
    this.#checkpointLength = Math.min(this.#checkpointLength, known);
    this.#changed();
  }

  #changed(): void {
    this.#hasFreshLogits = false;
  }

  /**
   * Runs a batch through the model. Logits cost a product with the whole vocabulary, so only the last batch computes
   * them.
   */
  #forward(tokens: Int32Array, isLast = true): void {
    const { core } = this;
    const batch = { first: this.length, rows: tokens.length };
    core.forward(this.freshMemory(), tokens, this.#watchers, batch.first);
    this.#addTokens(tokens);
    this.recorder?.end(batch);
    if (!isLast) return;
    core.writeLogits(tokens.length - 1, this.logitsAddress);
    this.#hidden = core.hidden(tokens.length - 1);
    this.#hasFreshLogits = true;
  }

  /** Address of the logits of the next token, fresh or not. */
  get logitsAddress(): number {
    return this.#logits.address;
  }

  /** Takes over a token that was read with those of other texts. */
  accept(token: number, row: number | undefined): void {
    this.#addTokens([token]);
    if (row === undefined) return;
    this.#hidden = this.core.hidden(row);
    this.#hasFreshLogits = true;
  }

  #addTokens(tokens: Iterable<number>): void {
    this.#tokens.add(tokens);
    this.#changed();
    if (this.length - this.#checkpointLength >= this.#checkpoints.spacing) this.keepCheckpoint();
  }
}
