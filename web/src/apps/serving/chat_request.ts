// What a chat asks for, whatever the shape of the request was.
import type { Advised } from "../../core/base/advice.js";
import type { OutputFormat } from "../../runtime/grammar/format.js";
import type { GenerateOptions } from "../../runtime/model/session/options.js";
import type { ChatMessage } from "../../runtime/text/chat_template.js";
import type { FieldNames } from "../../core/base/field_names.js";
import type { ForcedCall, Tool } from "./tool.js";

/** A request for answers in a chat. */
export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Empty without tools or with tool choice "none". */
  readonly tools: readonly Tool[];
  readonly forced: ForcedCall | undefined;
  /** False: an answer ends with its first call. */
  readonly isParallel: boolean;
  readonly format: OutputFormat | undefined;
  /** Variables of the chat template. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Number of answers. */
  readonly count: number;
  readonly options: GenerateOptions;
  /** The names of its fields. Tools are `tools[0].name` and `tools[0].parameters` here. */
  readonly fieldOf: FieldNames;
  /** What else can be called if the model has no chat template, for messages: `, or use …`. @internal */
  readonly otherCalls: readonly Advised[];
}
