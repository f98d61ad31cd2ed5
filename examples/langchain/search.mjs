// Searches paragraphs with a vector store of LangChain.js. The vectors are made here, by the small encoder.
//
//   node examples/langchain/search.mjs ["a query"] [model]    a model: a folder, a file, a URL or a name on the Hub
import { MemoryVectorStore } from "@langchain/classic/vectorstores/memory";
import { load } from "ropewalk";
import { paragraphsFor } from "../small_encoder/paragraphs.mjs";
import { RopewalkEmbeddings } from "./ropewalk_embeddings.mjs";

const { paragraphs, facts } = paragraphsFor({ seed: 800_000_000, count: 32, length: 60 });
const [query = `Where is the ${facts[0].thing}?`, source = new URL("../small_encoder/", import.meta.url)] =
  process.argv.slice(2);

const rw = await load();
const model = await rw.model(source);
const store = new MemoryVectorStore(new RopewalkEmbeddings({ model, truncate: true }));
await store.addDocuments(paragraphs.map((pageContent, number) => ({ pageContent, metadata: { number } })));

console.log(query);
for (const [{ pageContent, metadata }, score] of await store.similaritySearchWithScore(query, 3))
  console.log(`\n${score.toFixed(3)}  paragraph ${metadata.number}: ${pageContent}`);
model.dispose();
