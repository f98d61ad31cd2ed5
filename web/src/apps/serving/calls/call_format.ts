// How models write tool calls and reasoning. The formats themselves are in call_formats.ts.

interface Surroundings {
  /** Text before a call. Empty if the call's own beginning is all that there is. */
  readonly open: string;
  /** Text after a call. Empty means that nothing follows. */
  readonly close: string;
  /** Text around all calls of an answer, which not every model writes. */
  readonly section?: readonly [open: string, close: string];
  /** The markers that are control tokens in some vocabularies. */
  readonly markers: readonly string[];
}

/** `{"name": …, "arguments": …}`, or a list of these. */
export interface JsonFormat extends Surroundings {
  readonly style: "json";
  /** Text between `open` and the call where the model is made to call. */
  readonly lead: string;
  /** Whether several calls are one list. */
  readonly isList: boolean;
  readonly nameKey: "name" | "tool_name";
  /** Name of the arguments. Undefined: the call is `{"<name>": {…}}`. */
  readonly argumentsKey: "arguments" | "parameters" | undefined;
  /** Whether an answer that is nothing but JSON is a call even without `open`. */
  readonly isBare: boolean;
}

/** The name, then the arguments as a JSON object. */
export interface NamedFormat extends Surroundings {
  readonly style: "named";
  /** What may be around the name. The first that fits counts. */
  readonly heads: readonly NameHead[];
}

/** Texts around a name. White space is allowed between all of them. */
export interface NameHead {
  readonly before: string;
  readonly after: string;
  /** Text after the name that some calls have: what begins it. It ends where `after` begins. */
  readonly note?: string;
  /** Whether a call's id may stand before `before`. */
  readonly hasId?: boolean;
}

/** The name and each argument between tags, without quotes around texts. A `*` in a tag is any text in quotes. */
export interface TaggedFormat extends Surroundings {
  readonly style: "tagged";
  /** Text before and after the name. An empty text after it means white space, the first key or the end. */
  readonly name: readonly [before: string, after: string];
  /** Text before a key, between key and value, and after the value. */
  readonly value: readonly [before: string, between: readonly string[], after: string];
  /** What stands for `*` between key and value if the value is text, whatever the schema says. */
  readonly textAttribute?: string;
  /** Text after the last argument. */
  readonly end: string;
  /** Whether each value has lines of its own. */
  readonly isPadded: boolean;
  /** Whether a call may begin inside of the reasoning, and ends it. */
  readonly endsReasoning?: boolean;
}

/** `name(key="value", …)`, as Python writes it. */
export interface PythonFormat extends Surroundings {
  readonly style: "python";
}

/** `call:name{key:value}`, with a marker as quote. */
export interface QuotedFormat extends Surroundings {
  readonly style: "quoted";
  readonly quote: string;
}

export type CallFormat = JsonFormat | NamedFormat | TaggedFormat | PythonFormat | QuotedFormat;

/** What encloses reasoning. */
export interface ReasoningFormat {
  readonly open: string;
  readonly close: string;
  /** The markers that are control tokens in some vocabularies, if they aren't `open` and `close`. */
  readonly markers?: readonly string[];
  /** Whether it may also begin after content. Otherwise only at the beginning of an answer or after a call. */
  readonly isAnywhere?: boolean;
}

/** Texts around content that mean nothing. `{tool}` is the name of a tool. */
export interface FrameFormat {
  readonly texts: readonly string[];
  /** The control tokens in them. */
  readonly markers: readonly string[];
  /** Text at the end of the prompt that belongs to the answer's first marker. */
  readonly begun?: string;
}

/** What a chat template says about answers. */
export interface AnswerFormat {
  /** Undefined if the template writes no calls, or in a form that isn't known. */
  readonly calls: CallFormat | undefined;
  readonly reasoning: ReasoningFormat | undefined;
  readonly frame?: FrameFormat | undefined;
  /** Whether answers consist of channels, as those of gpt-oss. */
  readonly isHarmony: boolean;
}
