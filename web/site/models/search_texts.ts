// A search among texts, with a model that embeds texts or scores pairs of them, and doesn't chat.
import type { WorkerModel, WorkerRopewalk } from "ropewalk/worker";
import { find, withText } from "../page/elements.js";
import { problemText } from "../page/problem.js";
import { factsOf } from "./facts.js";

/** The names that models give the prompts of what is searched for, and of what is found. */
const QUERY_PROMPTS = ["query", "search_query", "Retrieval-query", "retrieval.query"];
const TEXT_PROMPTS = ["document", "passage", "search_document", "Retrieval-document", "retrieval.passage"];

/** A text, its place in the list, and how close it is to the query. */
interface Found {
  readonly index: number;
  readonly score: number;
}

/** The search of the page. */
export class TextSearch {
  model: WorkerModel | undefined;
  #rw: WorkerRopewalk | undefined;
  #searching: AbortController | undefined;

  constructor() {
    find<HTMLFormElement>("#search").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.#searching === undefined) void this.#search();
    });
    find("#search-stop").addEventListener("click", () => this.#searching?.abort());
  }

  /** Replaces the open model, whose Worker is `rw`. */
  async begin(rw: WorkerRopewalk, model: WorkerModel): Promise<void> {
    await this.close();
    [this.#rw, this.model] = [rw, model];
    find("#texts-name").textContent = model.info.name;
    find("#texts-facts").textContent = factsOf(model);
    find("#search-state").textContent = "";
    find("#found").hidden = true;
    find("#texts").hidden = false;
  }

  /** Closes the open model, which frees its memory. */
  async close(): Promise<void> {
    this.#searching?.abort();
    find("#texts").hidden = true;
    const rw = this.#rw;
    this.#rw = this.model = undefined;
    await rw?.dispose();
  }

  async #search(): Promise<void> {
    const model = this.model!;
    const query = find<HTMLInputElement>("#query").value.trim();
    const lines = find<HTMLTextAreaElement>("#searched").value.split("\n");
    const texts = lines.map((line) => line.trim()).filter((line) => line !== "");
    const state = find("#search-state");
    const stop = find<HTMLButtonElement>("#search-stop");
    const searching = new AbortController();
    this.#searching = searching;
    stop.disabled = false;
    const start = performance.now();
    try {
      if (query === "" || texts.length === 0) throw new Error("Write what to search for, and at least one text.");
      const found = await (model.info.ranks ? rank : embed)(model, query, texts, searching.signal);
      if (model !== this.model) return;
      showFound(found, texts, model.info.ranks ? "score" : "cosine");
      const milliseconds = (performance.now() - start).toFixed(0);
      state.textContent = `${texts.length} ${texts.length === 1 ? "text" : "texts"} in ${milliseconds} ms.`;
    } catch (error) {
      if (model === this.model) state.textContent = searching.signal.aborted ? "Stopped." : problemText(error);
    } finally {
      this.#searching = undefined;
      stop.disabled = true;
    }
  }
}

async function rank(model: WorkerModel, query: string, texts: string[], signal: AbortSignal): Promise<Found[]> {
  return model.rank(query, texts, { truncate: true, signal });
}

async function embed(model: WorkerModel, query: string, texts: string[], signal: AbortSignal): Promise<Found[]> {
  const { prompts } = model.info.embedding;
  const promptIn = (names: string[]): { prompt?: string } => {
    const prompt = names.find((name) => name in prompts);
    return prompt === undefined ? {} : { prompt };
  };
  const options = { normalize: true, truncate: true, signal };
  const wanted = await model.embed(query, { ...options, ...promptIn(QUERY_PROMPTS) });
  const vectors = await model.embed(texts, { ...options, ...promptIn(TEXT_PROMPTS) });
  const cosine = (vector: Float32Array): number => vector.reduce((sum, value, i) => sum + value * wanted[i]!, 0);
  return vectors
    .map((vector, index) => ({ index, score: cosine(vector) }))
    .sort((a, b) => b.score - a.score || a.index - b.index);
}

function showFound(found: readonly Found[], texts: readonly string[], heading: string): void {
  find("#found-score").textContent = heading;
  find("#found tbody").replaceChildren(
    ...found.map(({ index, score }) => {
      const row = document.createElement("tr");
      row.append(withText("td", score.toFixed(3)), withText("td", texts[index]!));
      return row;
    }),
  );
  find("#found").hidden = false;
}
