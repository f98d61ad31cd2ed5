// A model under one method and cache: sessions that read tokens, shift if the method does, and answer questions.
import { caches, methods, ropeOf } from "./methods.mjs";

/** StreamingLLM's attention sinks: first tokens that a shift keeps. */
const SINKS = 4;
/** Tokens whose logits are fetched at once while a window is shifted. */
const PIECE = 128;

/** A setup of the arena: a model under a method, opened for texts of `length` tokens. */
export class Setup {
  #encoded = new Map();
  #begin;

  /**
   * @param entry - of models.mjs, with its trained length.
   * @param cell - `{ weights, cache, method, multiple }` of a cell.
   * @param length - of the longest text, in tokens.
   */
  static async open(rw, entry, { weights, cache, method, multiple }, length) {
    const own = methods[method].weights;
    const { source, options } = own === undefined ? entry.weights[weights] : { source: entry.fineTunes[own] };
    const { trained, tuned } = entry;
    const shifts = methods[method].shift === true;
    const contextLength = shifts ? trained : length;
    const rope = ropeOf(method, { multiple, trained, tuned });
    const kv = { ...caches[cache], ...(methods[method].keys && { keys: methods[method].keys }) };
    return new Setup(await rw.model(source, { ...options, rope, contextLength, kv }), { shifts, contextLength });
  }

  constructor(model, { shifts, contextLength }) {
    [this.model, this.shifts, this.contextLength] = [model, shifts, contextLength];
  }

  /** Tokens that a text begins with. */
  async begin() {
    return (this.#begin ??= [...(await this.model.tokenizer.encode(""))]);
  }

  /** Tokens of a sentence inside a text. */
  async tokensOf(sentence) {
    if (!this.#encoded.has(sentence))
      this.#encoded.set(sentence, [...(await this.model.tokenizer.encode(` ${sentence}`, { special: false }))]);
    return this.#encoded.get(sentence);
  }

  session() {
    return this.model.session();
  }

  /** Appends tokens. A full window drops the older half, except its first tokens. */
  async append(session, tokens) {
    await this.#inPieces(session, tokens, Infinity, (piece) => session.append(piece));
  }

  async #inPieces(session, tokens, most, read) {
    for (let at = 0; at < tokens.length;) {
      if (this.shifts && (await session.length) === this.contextLength)
        await session.shift({ keep: SINKS, discard: (this.contextLength - SINKS) >> 1 });
      const room = this.shifts ? this.contextLength - (await session.length) : tokens.length;
      const piece = tokens.slice(at, at + Math.min(room, most));
      await read(piece, at);
      at += piece.length;
    }
  }

  /** −ln p of each token of a text. NaN for the first. */
  async losses(tokens) {
    if (!this.shifts) return (await this.model.perplexity(tokens, { window: tokens.length })).losses;
    const losses = new Float64Array(tokens.length).fill(NaN);
    const session = await this.session();
    await this.#inPieces(session, tokens, PIECE, async (piece, first) => {
      const { data, shape } = (await session.trace(piece, { what: ["logits"] })).logits;
      piece.forEach((_, i) => {
        const next = first + i + 1;
        if (next < tokens.length) losses[next] = lossOf(data.subarray(i * shape[1], (i + 1) * shape[1]), tokens[next]);
      });
    });
    await session.dispose();
    return losses;
  }

  /**
   * Asks one question after the other, each after the model's own answer to the one before.
   * @returns the number of expected words `asked` for, and of those in the answers, `right`.
   */
  async answer(session, questions) {
    let [asked, right] = [0, 0];
    for (const { ask, expected, tokens } of questions) {
      await this.append(session, await this.tokensOf(ask));
      let text = "";
      const whenFull = this.shifts ? "shift" : "stop";
      for await (const piece of session.generate({ maxTokens: tokens, temperature: 0, whenFull })) text += piece.text;
      asked += expected.length;
      right += expected.filter((word) => text.includes(word)).length;
    }
    return { asked, right };
  }

  /** Tokens that questions and their answers take. */
  async room(questions) {
    let room = 0;
    for (const { ask, tokens } of questions) room += (await this.tokensOf(ask)).length + tokens;
    return room;
  }

  dispose() {
    return this.model.dispose();
  }
}

function lossOf(logits, token) {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity);
  return largest + Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)) - logits[token];
}
