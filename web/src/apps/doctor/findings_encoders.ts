// Findings about encoders: longer texts, and what makes their vectors.
import { ranksPairs, tokens, valueOf } from "./facts.js";
import { type Check, finding } from "./findings.js";
import { servedLength } from "./lengths.js";

/** One vector for a long text isn't the only way. */
const longTexts: Check = ({ main, length, facts }) => {
  const served = servedLength(main.config);
  if (served === null || length <= served) return undefined;
  const pieces = `Pieces of at most ${tokens(served)} tokens need no scaling: ${ranksPairs(facts) ? "the score of a text is that of its best piece" : "each has a vector, and the score of a text is that of its best piece"}.`;
  return finding(
    "long-texts",
    "note",
    "",
    `${pieces} With a scaling, read the queries and all texts under the same one, and measure it on texts of your own: YaRN isn't the best for every encoder, and NTK-aware and dynamic scalings can be tried the same way.`,
    "docs/long_embeddings.md",
  );
};

const dynamicByText: Check = ({ main, path }) => {
  const { max_position_embeddings: max } = main.config;
  if ((main.rope_type !== "dynamic" && main.rope_type !== "dynamic_yarn") || max === undefined) return undefined;
  return finding(
    "dynamic-by-text",
    "note",
    `${path}.rope_type`,
    `${main.rope_type} chooses the frequencies by the length of a text past ${tokens(max)} tokens. An encoder has no cached keys, so none become wrong. In Ropewalk each text has those of its own length, in transformers those of the longest text of its batch. Vectors of long and short texts are less alike than under a static scaling.`,
    "docs/long_embeddings.md#do-it-with-your-own-encoder",
  );
};

/** The wrong pooling gives vectors that look right. */
const pooling: Check = ({ facts }) => {
  const given = valueOf(facts, [], "pooling_type");
  if (ranksPairs(facts) || given !== undefined) return undefined;
  const text = facts.isGguf
    ? "isn't in the file, so Ropewalk takes the mean of all tokens, and llama.cpp wants --pooling. The model's page says which it was trained with."
    : "The pooling and the prompts are in files beside this one: modules.json, 1_Pooling/config.json and config_sentence_transformers.json. Without them Ropewalk takes the mean of all tokens, so keep the folder whole.";
  return finding(
    "pooling",
    "note",
    facts.isGguf ? `${facts.prefix}pooling_type` : "",
    text,
    "docs/embeddings.md#pooling-and-prefixes-by-default",
  );
};

/** In the order in which they are listed. */
export const ENCODER_CHECKS: readonly Check[] = [longTexts, dynamicByText, pooling];
