// The small model of the examples, which comes with the site.
import gguf from "../../../examples/small_model/model.q8_0.gguf?url";

/** What the file takes, for buttons that download it. */
export const SMALL_MODEL_BYTES = 1_217_248;

/** Fetches the small model as a file for `rw.model()`. */
export function fetchSmallModel(signal?: AbortSignal): Promise<File> {
  return fetchFile(gguf, "model.q8_0.gguf", signal);
}

/** Fetches a file of the site. @throws Error that says what the server answered */
export async function fetchFile(address: string, name: string, signal?: AbortSignal): Promise<File> {
  const answer = await fetch(address, signal === undefined ? {} : { signal }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Error(`${name} can't be downloaded. Check the connection and try again.`, { cause: error });
  });
  if (!answer.ok) throw new Error(`${name} can't be downloaded: the server answered ${answer.status}.`);
  return new File([await answer.blob()], name);
}
