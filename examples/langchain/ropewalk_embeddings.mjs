// LangChain.js's Embeddings by a model of this package, in Node or a page. Copy this file into your app.
import { Embeddings } from "@langchain/core/embeddings";

/** Names of prompts for documents, as sentence-transformers looks for them. */
const DOCUMENT_PROMPTS = ["document", "passage", "corpus"];

/**
 * Vectors for LangChain's vector stores and retrievers.
 *
 * `model` is a model of `ropewalk` or `ropewalk/worker`, or the promise of one. `queryPrompt` and `documentPrompt` name two of its
 * `info.embedding.prompts`, or are null for none. By default they are the model's own: `query`, and `document`, `passage` or `corpus`, else its
 * default prompt. The other options are those of `model.embed()`: `dimensions`, `normalize`, `truncate`, `signal` and so on. Each call takes them
 * too, and its own replace these.
 *
 * A call rejects with the `RopewalkError` of `embed()`, or the signal's reason. Nothing is sent anywhere, so nothing is tried again:
 * LangChain's `maxRetries` and `maxConcurrency` are refused as unknown options.
 */
export class RopewalkEmbeddings extends Embeddings {
  #model;
  #prompts;
  #options;

  constructor({ model, queryPrompt, documentPrompt, ...options } = {}) {
    super({});
    this.#model = Promise.resolve(model);
    this.#model.catch(() => undefined); // the calls report it
    this.#prompts = { query: queryPrompt, document: documentPrompt };
    this.#options = options;
  }

  /** Returns the vector of a query. */
  async embedQuery(text, options) {
    const [vector] = await this.#embed([text], "query", ["query"], options);
    return Array.from(vector);
  }

  /** Returns a vector for each document. */
  async embedDocuments(texts, options) {
    const vectors = await this.#embed(texts, "document", DOCUMENT_PROMPTS, options);
    return vectors.map((vector) => Array.from(vector));
  }

  async #embed(texts, kind, names, options) {
    const model = await this.#model;
    if (model?.info?.embedding === undefined)
      throw new TypeError("RopewalkEmbeddings needs { model }: what rw.model() returns, for a model with embeddings");
    const { prompts } = model.info.embedding;
    const prompt =
      this.#prompts[kind] === undefined ? names.find((name) => Object.hasOwn(prompts, name)) : this.#prompts[kind];
    return model.embed(texts, { ...(prompt !== undefined && { prompt }), ...this.#options, ...options });
  }
}
