/**
 * Searches a longrope scaling for a model and a length, as LongRoPE does. Start with {@link searchRope}.
 *
 * @packageDocumentation
 */
export { searchRope } from "./apps/search/search.js";
export type {
  ComparedRope,
  RopeSearchOptions,
  RopeSearchResult,
  SearchEvaluation,
  SearchProgress,
} from "./apps/search/search.js";
export type { SearchModel, SearchSession } from "./apps/search/evaluate.js";
export { type NeedleOptions, needleTexts } from "./apps/search/needles.js";
export type { FoundRope, RopeFactors } from "./apps/search/space.js";
export type { SearchText, SearchTokenizer } from "./apps/search/texts.js";
