// Tasks that tests of models run in a page. Each returns plain values.
import { load as loadHere } from "/package/dist/index.js";
import { load, RopewalkError } from "/package/dist/worker.js";

const violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  const isOfBrowser = blockedURI.endsWith("/favicon.ico"); // WebKit asks for it by itself
  if (!isOfBrowser) violations.push(`${violatedDirective}: ${blockedURI}`);
});

const MODEL = "/models/llama/model.gguf";
const TEXT = { seed: 7, maxTokens: 30, ignoreEnd: true };

async function piecesOf(text) {
  const pieces = [];
  for await (const piece of text) pieces.push(piece);
  return pieces;
}

const errorOf = (promise) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const fieldsOf = ({ name, code, field, constructor }) => ({
  isRopewalkError: constructor === RopewalkError,
  name,
  code,
  field,
});

/** Calls `use` with the module in a new Worker. */
async function inWorker(use) {
  const rw = await load({ build: "simd" });
  try {
    return await use(rw);
  } finally {
    await rw.dispose();
  }
}

const tasks = {
  violations: () => violations,

  /** The answers to questions in the page's thread, and in a Worker. */
  decisions: (address, ...asked) =>
    inWorker(async (rw) => {
      const here = await loadHere({ build: "simd" });
      const answersOf = async (model) => JSON.stringify(await (await model).decide(...asked));
      return [await answersOf(here.model(address)), await answersOf(rw.model(address))];
    }),

  /** The same text generated in the page's thread, and in a Worker from an address, a File and bytes. */
  sameText: () =>
    inWorker(async (rw) => {
      const bytes = await (await fetch(MODEL)).arrayBuffer();
      const here = await (await loadHere({ build: "simd" })).model(MODEL);
      const tokensOf = async (model) => (await piecesOf(model.generate("the cat", TEXT))).map(({ token }) => token);
      const texts = [await tokensOf(here)];
      const sources = [
        MODEL,
        new URL(MODEL, location.href),
        new File([bytes], "model.gguf"),
        [new File([bytes], "model.gguf")],
        bytes,
      ];
      for (const source of sources) texts.push(await tokensOf(await rw.model(source)));
      const sizes = [bytes.byteLength];
      texts.push(await tokensOf(await rw.model(bytes, { transfer: true })));
      sizes.push(bytes.byteLength);
      return { texts, sizes };
    }),

  /** Text from the files of a safetensors folder, as a page gets them from a drop, and from GGUF. */
  safetensors: () =>
    inWorker(async (rw) => {
      const names = ["config.json", "generation_config.json", "tokenizer.json", "model.safetensors"];
      const files = await Promise.all(
        names.map(async (name) => new File([await (await fetch(`/models/llama/${name}`)).blob()], name)),
      );
      const texts = [];
      for (const source of [files, MODEL]) {
        const pieces = await piecesOf((await rw.model(source)).generate("the cat", TEXT));
        texts.push(pieces.map(({ text }) => text).join(""));
      }
      return texts;
    }),

  /** Caches a model, lists cached models and deletes it, in the page's thread and in a Worker. */
  cached: () =>
    inWorker(async (rw) => {
      const steps = [];
      for (const one of [await loadHere({ build: "simd" }), rw]) {
        for (const cache of ["opfs", "cache"]) {
          (await one.model(MODEL, { cache })).dispose();
          steps.push(
            await one.cachedModels(),
            await one.deleteCachedModel(MODEL),
            await one.deleteCachedModel(new URL(MODEL, location.href)),
            await one.cachedModels(),
          );
        }
      }
      return { steps, wrong: fieldsOf(await errorOf(rw.deleteCachedModel("ftp://localhost/m.gguf"))) };
    }),

  /** Aborts generation halfway; the session continues. The page's event loop keeps running. */
  abort: () =>
    inWorker(async (rw) => {
      const session = await (await rw.model(MODEL)).session();
      await session.append("the cat");
      const before = session.length;
      const controller = new AbortController();
      const reason = new Error("enough");
      let count = 0;
      const thrown = await errorOf(
        (async () => {
          for await (const _ of session.generate({ ...TEXT, signal: controller.signal }))
            if (++count === 5) controller.abort(reason);
        })(),
      );
      const after = session.length;
      const more = await piecesOf(session.generate({ ...TEXT, maxTokens: 3 }));
      return { isReason: thrown === reason, appended: after - before, more: more.length, finish: more.at(-1).finish };
    }),

  /** Aborts reading a prompt in the Worker after it has reported progress. */
  abortReading: () =>
    inWorker(async (rw) => {
      const session = await (await rw.model(MODEL)).session({ contextLength: 20000 });
      const controller = new AbortController();
      let ticks = 0;
      const timer = setInterval(() => ticks++, 4);
      const onProgress = ({ done }) => done > 500 && controller.abort();
      const error = await errorOf(session.append(new Array(19000).fill(5), { signal: controller.signal, onProgress }));
      clearInterval(timer);
      return { name: error.name, read: session.length, tokens: (await session.tokens).length, ticks };
    }),

  /** Errors of the page and of the Worker. */
  errors: () =>
    inWorker(async (rw) => {
      const model = await rw.model(MODEL);
      const session = await model.session({ contextLength: 16 });
      const thrown = {
        full: await errorOf(session.append(new Array(20).fill(5))),
        damaged: await errorOf(rw.model(new Uint8Array(1000).fill(7))),
        missing: await errorOf(rw.model("/pages/model/index.html")),
        build: await errorOf(load({ build: "fast" })),
      };
      await model.dispose();
      thrown.model = await errorOf(model.session());
      await rw.dispose();
      thrown.worker = await errorOf(rw.model(MODEL));
      return Object.fromEntries(Object.entries(thrown).map(([name, error]) => [name, fieldsOf(error)]));
    }),

  /** The error of an entry whose load() fails. */
  loadFrom: async (entry) => fieldsOf(await errorOf((await import(entry)).load())),

  /** Texts of two models in one Worker, generated one after the other and at the same time. */
  twoModels: () =>
    inWorker(async (rw) => {
      const models = [await rw.model(MODEL), await rw.model("/models/qwen3/model.gguf")];
      const tokensOf = async (model) => (await piecesOf(model.generate("the", TEXT))).map(({ token }) => token);
      const alone = [];
      for (const model of models) alone.push(await tokensOf(model));
      return { alone, together: await Promise.all(models.map(tokensOf)) };
    }),
};

globalThis.runTask = (name, ...args) => tasks[name](...args);
