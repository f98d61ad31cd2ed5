// The options of model.decide() in a call: what the requests of all shapes can set, and those that the model is served with.
import type { DecideOptions } from "../../runtime/model/decide/options.js";
import type { Serving } from "./options.js";

/** Fields of OpenAI's and TypeSafe's shapes that theirs don't have. Null is the same as no field. */
export interface DecisionFields {
  /** As in `decide()`: orders of the options. */
  permutations?: number | null;
  /** As in `decide()`. */
  temperature?: number | null;
}

/** How the server decides. */
export type DecisionServing = Pick<Serving, "adapting" | "chats">;

/** The options of a call. */
export function decideOptions(
  { permutations, temperature }: DecisionFields,
  { adapting, chats: { templateName, onWarning } }: DecisionServing,
  signal: AbortSignal | undefined,
): DecideOptions {
  return {
    ...adapting,
    ...(templateName !== undefined && { templateName }),
    ...(onWarning && { onWarning }),
    ...(permutations != null && { permutations }),
    ...(temperature != null && { temperature }),
    ...(signal && { signal }),
  };
}
