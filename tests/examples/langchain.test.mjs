// The LangChain.js adapter of examples/, used by LangChain itself: its vector store and its retriever call a tiny model here and in a Worker.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory";
import { Embeddings } from "@langchain/core/embeddings";
import { load } from "ropewalk";
import { load as loadWorker } from "ropewalk/worker";
import { RopewalkEmbeddings } from "../../examples/langchain/ropewalk_embeddings.mjs";
import { capture } from "../../scripts/run.mjs";
import { root } from "./guide_page.mjs";

const tiny = (name) => new URL(`../golden/tiny_models/${name}/`, import.meta.url);
const documents = ["the red ball", "a blue hat", "there"];
const lists = (vectors) => vectors.map((vector) => Array.from(vector));

const inWorker = await loadWorker();
after(() => inWorker.dispose());

for (const [place, runtime] of [
  ["this thread", await load()],
  ["a Worker", inWorker],
])
  describe(`a model in ${place}`, () => {
    let loading, model, embeddings;
    before(async () => {
      loading = runtime.model(tiny("embedding_gemma2")); // has a prompt for queries and one for documents
      embeddings = new RopewalkEmbeddings({ model: loading }); // which still loads
      model = await loading;
    });
    after(() => model.dispose());

    test("queries and documents have the model's own prompts", async () => {
      assert.ok(embeddings instanceof Embeddings);
      const { prompts } = model.info.embedding;
      assert.ok(prompts.query && prompts.document);
      const expected = lists(await model.embed(documents, { prompt: "document" }));
      assert.deepEqual(await embeddings.embedDocuments(documents), expected);
      const query = await embeddings.embedQuery(documents[0]);
      assert.deepEqual(query, Array.from(await model.embed(documents[0], { prompt: "query" })));
      assert.notDeepEqual(query, expected[0]);
      assert.deepEqual(await embeddings.embedDocuments([]), []);
    });

    test("prompts and options are chosen for all calls, or for one", async () => {
      const other = new RopewalkEmbeddings({ model, queryPrompt: null, documentPrompt: "query", dimensions: 8 });
      const [plain, query] = await Promise.all(
        [null, "query"].map((prompt) => model.embed("there", { prompt, dimensions: 8 })),
      );
      assert.deepEqual(await other.embedQuery("there"), Array.from(plain));
      assert.deepEqual(await other.embedDocuments(["there"]), lists([query]));
      assert.equal((await other.embedQuery("there", { dimensions: 4 })).length, 4);
    });

    test("a vector store and its retriever find what is nearest", async () => {
      const store = await MemoryVectorStore.fromTexts(
        documents,
        documents.map((_, number) => ({ number })),
        embeddings,
      );
      const found = await store.similaritySearchWithScore("a hat", 3);
      const query = await model.embed("a hat", { prompt: "query" });
      const vectors = await model.embed(documents, { prompt: "document" });
      const cosine = (number) => vectors[number].reduce((sum, x, i) => sum + x * query[i], 0); // their length is 1
      assert.deepEqual(
        found.map(([{ metadata }]) => metadata.number),
        [0, 1, 2].sort((a, b) => cosine(b) - cosine(a)),
      );
      for (const [{ metadata }, score] of found) assert.ok(Math.abs(score - cosine(metadata.number)) < 1e-6);
      const [first] = await store.asRetriever(1).invoke("a hat");
      assert.equal(first.metadata.number, found[0][0].metadata.number);
    });

    test("errors keep their codes and fields", async () => {
      const store = new MemoryVectorStore(embeddings);
      const tooLong = { pageContent: "a".repeat(100_000), metadata: {} };
      await assert.rejects(store.addDocuments([tooLong]), { code: "INVALID_ARGUMENT", field: "texts[0]" });
      await assert.rejects(embeddings.embedQuery(["a", "b"]), { code: "INVALID_ARGUMENT" });
      await assert.rejects(embeddings.embedQuery("a", { dimensions: 0 }), {
        code: "INVALID_ARGUMENT",
        field: "dimensions",
      });
      for (const [option, code] of [
        [{ queryPrompt: "poem" }, "INVALID_ARGUMENT"],
        [{ maxRetries: 2 }, "UNKNOWN_KEY"],
      ])
        await assert.rejects(new RopewalkEmbeddings({ model, ...option }).embedQuery("a"), { code });
      const missing = new RopewalkEmbeddings({ model: runtime.model(tiny("missing")) });
      await assert.rejects(missing.embedQuery("a"), { code: "INVALID_FILE" });
    });

    test("a signal of all calls, or of one, aborts", async () => {
      const reason = new Error("the user left");
      const stopped = new RopewalkEmbeddings({ model, signal: AbortSignal.abort(reason) });
      await assert.rejects(stopped.embedDocuments(documents), (error) => error.message === reason.message);
      const controller = new AbortController();
      const options = { signal: controller.signal, onProgress: () => controller.abort(reason) };
      const call = embeddings.embedDocuments(Array(500).fill("there"), options);
      await assert.rejects(call, (error) => error.message === reason.message);
      assert.equal((await embeddings.embedDocuments(["there"])).length, 1);
    });
  });

test("models without prompts of these names have their default prompt", async () => {
  const model = await (await load()).model(new URL("../../examples/small_encoder/", import.meta.url));
  assert.deepEqual(
    Object.keys(model.info.embedding.prompts).filter((name) => model.info.embedding.prompts[name] !== ""),
    [],
  );
  const embeddings = new RopewalkEmbeddings({ model });
  assert.deepEqual(await embeddings.embedQuery("a red ball"), Array.from(await model.embed("a red ball")));
  model.dispose();
});

test("search.mjs prints the paragraph that answers", async () => {
  const printed = await capture(process.execPath, [join(root, "examples", "langchain", "search.mjs")]);
  const thing = /^Where is the (.+)\?\n/.exec(printed)[1];
  assert.ok(printed.split("\n")[2].includes(`The ${thing} is in the `), printed);
});
