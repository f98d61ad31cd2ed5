// From the events of an answer to the parts of a stream of the AI SDK.
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";
import type { AnswerPart } from "../serving/calls/answer_part.js";
import { type AnswerEvent, type Ending, NO_TOKENS, type TokenCounts } from "../serving/events.js";
import { newCallId } from "../serving/ids.js";

const REASONS = { stop: "stop", length: "length", tool_calls: "tool-calls" } as const;

/** @param includesRaw - whether each event is a part too */
export async function* streamParts(
  events: AsyncIterable<AnswerEvent>,
  warnings: SharedV4Warning[],
  response: LanguageModelV4ResponseMetadata,
  includesRaw: boolean,
): AsyncGenerator<LanguageModelV4StreamPart, void, void> {
  yield { type: "stream-start", warnings };
  yield { type: "response-metadata", ...response };
  const blocks = new Blocks();
  let [ending, counts]: [Ending, TokenCounts] = ["stop", NO_TOKENS];
  for await (const event of events) {
    if (includesRaw) yield { type: "raw", rawValue: event };
    if (event.finish !== undefined) counts = event.finish;
    else if ("ending" in event) ending = event.ending;
    else for (const part of event.parts) yield* blocks.add(part);
  }
  yield* blocks.close();
  yield { type: "finish", usage: usageOf(counts), finishReason: finishReason(ending) };
}

/** Wraps consecutive parts of one kind in start and end parts. */
class Blocks {
  #count = 0;
  #open: { readonly type: "text" | "reasoning"; readonly id: string } | undefined;
  #call = { id: "", toolName: "", input: "" };

  *add(part: AnswerPart): Generator<LanguageModelV4StreamPart> {
    if ("content" in part) yield* this.#addText("text", part.content);
    else if ("reasoning" in part) yield* this.#addText("reasoning", part.reasoning);
    else if ("call" in part) {
      yield* this.close();
      this.#call = { id: newCallId(), toolName: part.call, input: "" };
      yield { type: "tool-input-start", id: this.#call.id, toolName: part.call };
    } else if ("arguments" in part) {
      this.#call.input += part.arguments;
      yield { type: "tool-input-delta", id: this.#call.id, delta: part.arguments };
    } else {
      const { id, toolName } = this.#call;
      const input = this.#call.input || "{"; // cut before its arguments: the SDK would read no input as {}, and call the function
      yield { type: "tool-input-end", id };
      yield { type: "tool-call", toolCallId: id, toolName, input };
    }
  }

  /** Ends the open block. */
  *close(): Generator<LanguageModelV4StreamPart> {
    if (this.#open !== undefined) yield { type: `${this.#open.type}-end`, id: this.#open.id };
    this.#open = undefined;
  }

  *#addText(type: "text" | "reasoning", delta: string): Generator<LanguageModelV4StreamPart> {
    if (this.#open?.type !== type) {
      yield* this.close();
      this.#open = { type, id: String(this.#count++) };
      yield { type: `${type}-start`, id: this.#open.id };
    }
    yield { type: `${type}-delta`, id: this.#open.id, delta };
  }
}

/** Joins the parts of a stream into the content of a whole answer. */
export function addContent(content: LanguageModelV4Content[], part: LanguageModelV4StreamPart): void {
  if (part.type === "tool-call") content.push(part);
  else if (part.type === "text-start") content.push({ type: "text", text: "" });
  else if (part.type === "reasoning-start") content.push({ type: "reasoning", text: "" });
  else if (part.type === "text-delta" || part.type === "reasoning-delta")
    (content[content.length - 1] as { text: string }).text += part.delta;
}

function finishReason(ending: Ending): LanguageModelV4FinishReason {
  return { unified: REASONS[ending], raw: ending };
}

function usageOf({ prompt, cached, generated, reasoning }: TokenCounts): LanguageModelV4Usage {
  return {
    inputTokens: { total: prompt, noCache: prompt - cached, cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: generated, text: generated - reasoning, reasoning },
  };
}
