// Says errors in the words of the server: who asks it knows paths, and who runs it knows options.
import type { ErrorBody } from "../../openai/errors.js";

/** What messages advise in the package, and here. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/load the model with a larger contextLength/i, "start the server with a larger --context"],
  [
    /load the model with the option `chatTemplate`, or use completions\.create\(\)/,
    "start the server with --chat-template, or use /v1/completions",
  ],
  [/; call (?:embed\(\)|rank\(\))(?: or (?:embed\(\)|rank\(\)))?/, "; use /v1/embeddings"],
  [
    /pass token ids, or pass a tokenizer with the option `tokenizer`/,
    "pass token ids, or serve a file with a tokenizer",
  ],
];

export function inServerWords({ error }: ErrorBody): ErrorBody {
  const message = ADVICE.reduce((text, [pattern, advice]) => text.replace(pattern, advice), error.message);
  return { error: { ...error, message } };
}
