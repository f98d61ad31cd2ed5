// Functions that a model may call.

/** A function that the model may call. */
export interface Tool {
  type: "function";
  function: { name: string; description?: string; parameters?: object; strict?: boolean | null };
}
