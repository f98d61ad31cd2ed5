// The tasks of the arena.
import { judge, perplexity } from "./tasks/perplexity.mjs";
import { multiKey, multiQuery, passkey, repeated, variables } from "./tasks/needles.mjs";

/**
 * Names, and what they measure. `share`: the result is a share of right answers, so a model that can't do it in its window drops it.
 * `short`: the text has the trained length whatever length the method is set up for. `readings`: how many times a text is read (1).
 */
export const tasks = {
  judge: { label: "which tokens need a long context", measure: judge, readings: 4 },
  perplexity: { label: "loss by position and LongPPL", measure: perplexity, judged: true },
  passkey: { label: "passkey", measure: repeated(passkey), readings: 3.5, share: true, byDepth: true },
  multi_key: { label: "multi-key needle", measure: repeated(multiKey), share: true, byDepth: true },
  multi_query: { label: "multi-query", measure: repeated(multiQuery), share: true },
  variables: { label: "variable tracking", measure: repeated(variables), share: true },
  short_perplexity: { label: "loss of short texts", measure: perplexity, judged: true, short: true },
  short_multi_key: {
    label: "multi-key needle in short texts",
    measure: repeated(multiKey),
    share: true,
    short: true,
    like: "multi_key",
  },
};

/** What a model must do inside its window to be measured beyond it. */
export const NEEDED = 0.98;
