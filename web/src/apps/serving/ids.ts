// Ids of answers and calls.

/** A new id of an answer, unique with near certainty. */
export function newId(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return prefix + Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A new id of a call: nine letters and digits, because chat templates of Mistral's models refuse others. */
export function newCallId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => (byte % 36).toString(36)).join("");
}
