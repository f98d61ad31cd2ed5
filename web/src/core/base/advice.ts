// What errors advise, as data, and the sentences of the API for it. The command line, the server and the AI SDK have tables of their own.

/** The kinds of advice that an error gives, with their values. */
export interface AdviceValues {
  /** Anything that is said alike everywhere. */
  other: { readonly words: string };
  /** Use the name that is most like the given one, or that is used here for another package's name, `from`. */
  spell: { readonly name: string; readonly from?: string };
  /** Use one of these names. */
  choose: { readonly names: readonly string[] };
  /** Give an option a larger value: `most` is the largest that it can have, and above `trained` the RoPE needs a scaling. */
  raise: {
    readonly option: "contextLength" | "maxBytes";
    /** What has the option, if it isn't the call that failed. */
    readonly of?: "model";
    readonly most?: number;
    readonly trained?: number;
  };
  /** Give one of these options a smaller value. */
  lower: { readonly options: readonly ("contextLength" | "kv.dtype")[] };
  /** Pass an option to the call that failed, with a value as it is written in JavaScript. */
  pass: { readonly option: "truncate" | "whenFull" | "draft"; readonly value?: string };
  /** Load the model with an option. `saved`: as it was when the session was saved. */
  load: {
    readonly option: "chatTemplate" | "tokenizer" | "rope" | "quantize" | "kv.dtype" | "kv.keys";
    readonly value?: string;
    readonly saved?: true;
  };
  /** Leave an option out. */
  leaveOut: { readonly option: "format" };
  /** Call one of these. */
  call: {
    readonly calls: readonly (
      | "decide"
      | "embed"
      | "rank"
      | "shift"
      | "rewind"
      | "retune"
      | "append"
      | "session.keys"
      | "promptTokens"
      | "ropeConfig"
      | "completions.create"
    )[];
    readonly first?: true;
  };
  /** Remove tokens from the session first. */
  shorten: object;
  /** Free memory of objects. */
  dispose: { readonly of: readonly string[]; readonly orUse?: "smaller ones" };
  /** Set a key of the config in the overrides. */
  override: { readonly key: string; readonly value?: string };
  /** Say how pairs are stored. */
  pairing: object;
  /** Use a type of scaling that reads the key. */
  ropeType: { readonly types: readonly string[] };
  /** Replace the model's own scaling; `key` is what drops it too. */
  replace: { readonly key?: "freq_factors" };
  /** Extend the context with a scaling, or with a position map (ReRoPE) of this window. */
  extend: { readonly rope_type: string; readonly factor: number; readonly window?: number };
  /** Choose one of several chat templates. */
  template: { readonly names: readonly string[] };
  /** Pass the prompt as text, or as token ids, not as what failed; `tokens`: as something with at least one token. */
  prompt: { readonly as: "text" | "token ids" | "tokens" };
  /** Open the saved session with the adapters that it was saved with. */
  sameAdapters: object;
  /** Save the session again. */
  resave: object;
  /** Use an adapter with its base model. */
  adapter: object;
  /** Send what a server asks for. */
  credentials: object;
  /** Make a token of the Hub. */
  hubToken: { readonly address: string; /** Where its licence is to be accepted first. */ readonly licence?: string };
  /** Check the address of the Hub. */
  hubAddress: object;
  /** Pass the files themselves. */
  blobs: { readonly all?: true };
  /** What only an app's code can do. */
  code: { readonly words: string };
}

/** What an error advises: a key, and its values. `or` is what else helps. */
export type Advice = {
  readonly [Key in keyof AdviceValues]: { readonly do: Key; readonly or?: Advice } & AdviceValues[Key];
}[keyof AdviceValues];

/** An advice, and how the API says it. @internal */
export interface Advised {
  readonly advice: Advice;
  readonly words: string;
}

type Values<Key extends keyof AdviceValues> = AdviceValues[Key];

const advised = <Key extends keyof AdviceValues>(key: Key, values: Values<Key>, words: string): Advised => ({
  advice: { do: key, ...values } as Advice,
  words,
});

/** Several that each help: `call shift(), or use a larger contextLength`. @internal */
export function either(...[first, ...others]: readonly Advised[]): Advised {
  if (others.length === 0) return first!;
  const { advice, words } = either(...others);
  const rest = others.length === 1 ? `, or ${words}` : `, ${words}`;
  return { advice: { ...first!.advice, or: advice }, words: first!.words + rest };
}

const listed = (names: readonly string[]): string => names.join(" or ");

// The API's table: a function for each kind, so that an app downloads only the sentences that its calls can need.

/** @internal */
export function other(words: string): Advised {
  return advised("other", { words }, words);
}

/** @internal */
export function spell(values: Values<"spell">): Advised {
  const { name, from } = values;
  return advised("spell", values, from === undefined ? `did you mean ${name}?` : `\`${from}\` is \`${name}\` here`);
}

/** @internal */
export function choose(values: Values<"choose">): Advised {
  return advised("choose", values, `use one of ${values.names.join(", ")}`);
}

/** @internal */
export function raise(values: Values<"raise">): Advised {
  const { option, of } = values;
  if (option === "maxBytes") return advised("raise", values, "raise maxBytes");
  const target = of === "model" ? "load the model with" : "use";
  return advised("raise", values, `${target} a larger ${option}${boundsOf(values)}`);
}

/** How far an option can be raised. @internal */
export function boundsOf({ most, trained }: Pick<Values<"raise">, "most" | "trained">): string {
  if (most !== undefined) return `, at most ${most}`;
  return trained === undefined ? "" : ` (above ${trained}, with a scaling of its RoPE)`;
}

/** @internal */
export function lower(values: Values<"lower">): Advised {
  return advised("lower", values, `use ${listed(values.options.map((option) => `a smaller ${option}`))}`);
}

/** @internal */
export function pass(values: Values<"pass">): Advised {
  const { option, value } = values;
  return advised("pass", values, value === undefined ? `pass ${option}` : `pass ${option}: ${value}`);
}

/** @internal */
export function load(values: Values<"load">): Advised {
  const { option, value, saved } = values;
  if (option === "quantize") return advised("load", values, "load the original model with the option `quantize`");
  const [name, key] = option.split(".");
  const given = value === undefined ? `the option \`${option}\`` : `${name}: ${key ? `{ ${key}: ${value} }` : value}`;
  return advised(
    "load",
    values,
    `load the model with ${given}${saved && value === undefined ? " as it was when it was saved" : ""}`,
  );
}

/** @internal */
export function leaveOut(values: Values<"leaveOut">): Advised {
  return advised("leaveOut", values, `leave out ${values.option}`);
}

/** @internal */
export function call(values: Values<"call">): Advised {
  return advised(
    "call",
    values,
    `call ${listed(values.calls.map((name) => `${name}()`))}${values.first ? " first" : ""}`,
  );
}

/** @internal */
export function shorten(values: Values<"shorten"> = {}): Advised {
  return advised("shorten", values, "call shift() or rewind() first");
}

/** @internal */
export function dispose(values: Values<"dispose">): Advised {
  return advised("dispose", values, `dispose of ${listed(values.of)}${values.orUse ? `, or use ${values.orUse}` : ""}`);
}

/** @internal */
export function override(values: Values<"override">): Advised {
  const { key, value } = values;
  return advised("override", values, `set ${key}${value === undefined ? "" : ` to ${value}`} in the overrides`);
}

/** @internal */
export function pairing(values: Values<"pairing"> = {}): Advised {
  return advised("pairing", values, 'pass overrides: { pairing: "half" | "interleaved" | "interleaved_to_half" }');
}

/** @internal */
export function ropeType(values: Values<"ropeType">): Advised {
  return advised("ropeType", values, `only ${values.types.join(", ")} do`);
}

/** @internal */
export function replace(values: Values<"replace">): Advised {
  const key = values.key && ` to drop that, or ${values.key}`;
  return advised("replace", values, `add replace: true to rope_scaling${key ?? ""}`);
}

/** @internal */
export function extend(values: Values<"extend">): Advised {
  const { rope_type, factor, window } = values;
  const map = window === undefined ? "" : `, or with position_map { type: "rerope", window: ${window} }`;
  return advised("extend", values, `extend it with rope_type ${rope_type} and factor ${factor}${map}`);
}

/** @internal */
export function template(values: Values<"template">): Advised {
  return advised("template", values, `choose one with the option \`templateName\`: ${values.names.join(", ")}`);
}

const PROMPTS = {
  text: "pass the prompt as text",
  "token ids": "pass token ids",
  tokens: "pass text, or token ids, with at least one token",
};

/** @internal */
export function prompt(values: Values<"prompt">): Advised {
  return advised("prompt", values, PROMPTS[values.as]);
}

/** @internal */
export function sameAdapters(values: Values<"sameAdapters"> = {}): Advised {
  return advised("sameAdapters", values, "open it with the same adapters and scales");
}

/** @internal */
export function resave(values: Values<"resave"> = {}): Advised {
  return advised("resave", values, "read it again from where it is kept, or save it again");
}

/** @internal */
export function adapter(values: Values<"adapter"> = {}): Advised {
  return advised("adapter", values, "load its base model, and then this as an adapter");
}

/** @internal */
export function credentials(values: Values<"credentials"> = {}): Advised {
  return advised("credentials", values, "pass credentials in `headers`");
}

/** What comes before a token: the licence of a gated model. @internal */
export function licenceOf({ licence }: Values<"hubToken">): string {
  return licence === undefined ? "" : `accept its licence on ${licence}, then `;
}

/** @internal */
export function hubToken(values: Values<"hubToken">): Advised {
  return advised("hubToken", values, `${licenceOf(values)}make a token at ${values.address} and pass it as \`token\``);
}

/** @internal */
export function hubAddress(values: Values<"hubAddress"> = {}): Advised {
  return advised("hubAddress", values, "check the address in `hub`");
}

/** @internal */
export function blobs(values: Values<"blobs"> = {}): Advised {
  return advised(
    "blobs",
    values,
    values.all ? "pass all of its files as an array of Blobs" : "in a page, pass the files as Blobs",
  );
}

/** @internal */
export function code(words: string): Advised {
  return advised("code", { words }, words);
}
