// Functions that a model may call.

/** A function that the model may call. */
export interface Tool {
  type: "function";
  function: { name: string; description?: string; parameters?: object; strict?: boolean | null };
}

/** The functions of which one must be called. */
export interface ForcedCall {
  readonly tools: readonly Tool[];
  /** Whether more than one call may follow. */
  readonly isParallel: boolean;
}
