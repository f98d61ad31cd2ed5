// The rows of the remote API: what each member of a local class is in a Worker.
import type { OptionNames } from "../../core/base/options.js";
import type { Argument, ObjectKind } from "./arguments.js";

/**
 * Kinds of properties: `fact`, a constant that comes with the object; `state`, which comes with each reply; `promise`, which the Worker is
 * asked for.
 */
export type PropertyKind = "fact" | "state" | "promise";

/**
 * Kinds of methods: `read` and `change`, by what they do to their object; `stream`, an async generator, whose steps are computed when they
 * are asked for; `dispose`.
 */
export type MethodKind = "read" | "change" | "stream" | "dispose";

/** A property. */
export interface Property<Kind extends PropertyKind = PropertyKind> {
  readonly kind: Kind;
  /** The class of its object, if it is one of the Worker. @internal */
  readonly returns?: ObjectKind;
}

/** A method. */
export interface Method<Kind extends MethodKind = MethodKind> {
  readonly kind: Kind;
  /** Its arguments before the options. @internal */
  readonly args: readonly Argument[];
  /** The names of its options, its last argument. They are checked before the call is sent. @internal */
  readonly options?: OptionNames | undefined;
  /** The class of the object that it returns, if the Worker keeps it. @internal */
  readonly returns?: ObjectKind;
  /** Whether the object goes on using the adapters of the last call. @internal */
  readonly keeps?: true;
  /** Whether its warnings go where those of the model's loading went, or to the console, unless its options say otherwise. @internal */
  readonly warns?: true;
  /** Called with the object and the one that it returns; the result is called when that is disposed of. @internal */
  readonly made?: (object: never, made: never) => () => void;
  /** Whether it ends the Worker. @internal */
  readonly endsWorker?: true;
}

/** A member that a Worker doesn't offer. */
export interface Here {
  readonly kind: "here";
  /** The reason. @internal */
  readonly why: string;
}

/** What a member of a local class is in a Worker. @internal */
export type Row = Property | Method | Here;

/** One row for each member of a local class: the compiler finds a member without one. @internal */
export type Rows<Local> = {
  readonly [Name in keyof Local & string]-?:
    | Here
    | (Local[Name] extends (...args: never) => infer Result
        ? Result extends AsyncGenerator
          ? Method<"stream">
          : Method<"read" | "change" | "dispose">
        : Property);
};

/** @internal */
export const FACT: Property<"fact"> = { kind: "fact" };
/** @internal */
export const STATE: Property<"state"> = { kind: "state" };
/** @internal */
export const PROMISE: Property<"promise"> = { kind: "promise" };
/** @internal */
export const DISPOSE: Method<"dispose"> = { kind: "dispose", args: [] };
/** @internal */
export const END_WORKER: Method<"dispose"> = { kind: "dispose", args: [], endsWorker: true };

/** @internal */
export const here = (why: string): Here => ({ kind: "here", why });

/** Makes the row of a method from its arguments, the names of its options, and what else it has. */
type NewMethod<Kind extends MethodKind> = (
  args?: readonly Argument[],
  options?: OptionNames,
  others?: Omit<Method, "kind" | "args" | "options">,
) => Method<Kind>;

const newMethod =
  <Kind extends MethodKind>(kind: Kind): NewMethod<Kind> =>
  (args = [], options, others) => ({ kind, args, options, ...others });

/** @internal */
export const read: NewMethod<"read"> = newMethod("read");
/** @internal */
export const change: NewMethod<"change"> = newMethod("change");
/** @internal */
export const stream: NewMethod<"stream"> = newMethod("stream");
