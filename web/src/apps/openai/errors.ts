// Errors in OpenAI's shape.
import { RopewalkError } from "../../core/base/errors.js";
import { messageOf } from "../../core/base/show.js";

/** The body of a response that reports an error. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string | null };
}

const SERVER_CODES: ReadonlySet<string> = new Set(["OUT_OF_MEMORY", "THREAD_LOST", "DISPOSED"]);

/** The response that reports an error: a status of HTTP and a body in OpenAI's shape. */
export function errorResponse(error: unknown): { status: number; body: ErrorBody } {
  if (!(error instanceof RopewalkError) || SERVER_CODES.has(error.code)) {
    const code = error instanceof RopewalkError ? error.code : null;
    const isWorker = code === "THREAD_LOST" && (error as RopewalkError).field === "worker"; // there may be a new one soon
    return { status: isWorker ? 503 : 500, body: errorBody(messageOf(error), "server_error", null, code) };
  }
  const isOfModel = /\.(gguf|safetensors)\b/.test(error.field); // the others are fields of the request
  const code = error.code === "CACHE_FULL" ? "context_length_exceeded" : error.code;
  return {
    status: 400,
    body: errorBody(error.message, "invalid_request_error", error.field === "" || isOfModel ? null : error.field, code),
  };
}

/** The body of an error that no exception reports. */
export function errorBody(
  message: string,
  type: string,
  param: string | null = null,
  code: string | null = null,
): ErrorBody {
  return { error: { message, type, param, code } };
}
