import type { WorkerModel } from "ropewalk/worker";

/** A token for readers: its text with visible spaces, or its name if it has no text. */
export async function readableToken({ tokenizer }: WorkerModel, token: number): Promise<string> {
  const text = await tokenizer.decode([token]);
  return text === "" ? await tokenizer.token(token) : text.replaceAll(" ", "␣").replaceAll("\n", "⏎");
}
