// A session of the package in a Worker.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";
import { load } from "/dist/index.js";
import { timed } from "../measure.mjs";
import { repeatedSession } from "./repeated_session.mjs";
import { tokensAt } from "./tokens.mjs";

let model, session;

expose({
  /**
   * Opens a model. Returns milliseconds of reading the file alone and of loading the
   * model, bytes of memory that are neither weights nor cache, bytes of the weights, and the multiply-adds of a prompt's token and of the
   * output head.
   */
  async open(source, { build, threads, context, cache }) {
    const rw = await load({ build, threads });
    const reading = await timed(async () => {
      for await (const _ of (await fetch(source, { cache: "no-store" })).body);
    });
    const loading = await timed(
      async () => (model = await rw.model(source, { contextLength: context, ...(cache && { kv: { dtype: cache } }) })),
    );
    session = model.session();
    await session.append(tokensAt(0, 512));
    const { parameters, vocabularySize, hiddenSize, memory } = model.info;
    const overhead = rw.memoryBytes - memory.weights - session.bytes;
    const head = vocabularySize * hiddenSize;
    return { reading, loading, overhead, bytes: memory.weights, products: parameters - head, head };
  },

  /** Appends `count` tokens, `times` times. Returns milliseconds until the logits are there, for each time. */
  async append(count, times = 1) {
    const samples = [];
    for (let i = 0; i < times; i++) {
      const tokens = tokensAt(session.length, count);
      samples.push(await timed(() => session.append(tokens)));
    }
    return samples;
  },

  rewind(length) {
    session.rewind(length);
  },

  /** Makes the text `times` as long, with the same keys and values again, without reading it. */
  repeat(times) {
    const bytes = repeatedSession(session.save(), times);
    session.restore(bytes);
  },

  /** Milliseconds of a token after texts of these lengths, one after the other, `times` times. */
  async compareLengths(lengths, times) {
    const sessions = lengths.map(() => model.session());
    try {
      for (const [i, length] of lengths.entries()) await sessions[i].append(tokensAt(0, length));
      const samples = [];
      for (let time = 0; time < times; time++) {
        const row = [];
        for (const one of sessions) row.push(await timed(() => one.append(tokensAt(one.length, 1))));
        samples.push(row);
      }
      return samples;
    } finally {
      for (const one of sessions) one.dispose();
    }
  },
});
