// Macros and the bodies of call blocks, as functions of a template.
import { repr } from "./values/python_text.js";
import { type Frame, Scope } from "./scope.js";
import type { Macro } from "./parse/syntax.js";
import {
  type Arguments,
  Dict,
  firstOf,
  Instance,
  type Keywords,
  tuple,
  Undefined,
  type Value,
} from "./values/values.js";

/** A macro. It sees the variables of the place where it is defined. */
export function macroOf(macro: Macro, scope: Scope, frame: Frame): Instance {
  const { name, parameters, uses, body } = macro;
  const hasCaller = parameters.some((parameter) => parameter.name === "caller");
  const attributes: Readonly<Record<string, Value>> = {
    name: name ?? null,
    arguments: tuple(parameters.map((parameter) => parameter.name)),
    catch_kwargs: uses.has("kwargs"),
    catch_varargs: uses.has("varargs"),
    caller: uses.has("caller"),
    explicit_caller: hasCaller,
  };
  return new Instance("Macro", {
    text: () => `<Macro ${name === undefined ? "anonymous" : repr(name)}>`,
    attribute: (attribute) => (Object.hasOwn(attributes, attribute) ? attributes[attribute] : undefined),
    call: (args, keywords) => {
      const inside = bound(macro, scope, args, keywords, frame);
      return frame.written(() => void frame.run(body, inside));
    },
  });
}

/** The scope of a call: parameters, and `caller`, `kwargs` and `varargs` if the macro reads them. @throws TypeError */
function bound(macro: Macro, scope: Scope, args: Arguments, keywords: Keywords, frame: Frame): Scope {
  const { name = "caller", parameters, uses } = macro;
  const inside = new Scope(scope);
  const rest = new Map(keywords);
  const given = parameters.map((parameter, i) => {
    if (i < args.length) return args[i];
    const value = rest.get(parameter.name);
    rest.delete(parameter.name);
    return value;
  });
  const hasCaller = parameters.some((parameter) => parameter.name === "caller");
  if (uses.has("caller") && !hasCaller) {
    inside.set("caller", callerIn(rest));
    rest.delete("caller");
  }
  if (uses.has("kwargs")) inside.set("kwargs", new Dict(rest));
  else if (rest.size > 0) throw new TypeError(`macro '${name}' takes no keyword argument '${[...rest.keys()][0]!}'`);
  if (uses.has("varargs")) inside.set("varargs", tuple(args.slice(parameters.length)));
  else if (args.length > parameters.length)
    throw new TypeError(`macro '${name}' takes not more than ${parameters.length} argument(s)`);
  for (const [i, parameter] of parameters.entries())
    inside.set(parameter.name, firstOf(given[i], new Undefined(`parameter '${parameter.name}' was not provided`)));
  for (const [i, parameter] of parameters.entries())
    if (given[i] === undefined && parameter.default !== undefined)
      inside.set(parameter.name, frame.evaluate(parameter.default, inside));
  return inside;
}

function callerIn(keywords: Keywords): Value {
  const caller = keywords.get("caller");
  return caller === undefined || caller === null ? new Undefined("No caller defined") : caller;
}
