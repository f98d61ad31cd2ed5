// A user's program with the AI SDK's types. Compiled by the stage `types`.
import type {
  EmbeddingModelV4,
  Experimental_DecisionModelV4,
  LanguageModelV4,
  ProviderV4,
  RerankingModelV4,
} from "@ai-sdk/provider";
import type { Model } from "ropewalk";
import { createRopewalk, type RopewalkCallOptions, type RopewalkProvider } from "ropewalk/ai-sdk";
import { load } from "ropewalk/worker";

export async function useProvider(here: Model): Promise<ProviderV4> {
  const rw = await load();
  const provider: RopewalkProvider = createRopewalk(rw.model("model.gguf"));
  const language: LanguageModelV4 = provider("chat");
  const embeddings: EmbeddingModelV4 = provider.embeddingModel();
  const reranker: RerankingModelV4 = provider.rerankingModel();
  const decider: Experimental_DecisionModelV4 = provider.decisionModel();
  await decider.doDecide({
    state: [{ type: "text", text: "a" }],
    questions: { b: { type: "boolean", instructions: "c" } },
  });
  const options: RopewalkCallOptions = { minP: 0.05, templateVariables: { enable_thinking: false } };
  await language.doGenerate({ prompt: [], providerOptions: { ropewalk: { minP: options.minP ?? 0 } } });
  provider.dispose();
  return embeddings.provider === reranker.provider ? provider : createRopewalk(here);
}
