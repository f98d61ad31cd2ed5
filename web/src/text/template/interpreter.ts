// Runs Jinja templates with `@huggingface/jinja`: corrects how its loops differ from Jinja's, and makes it keep to a budget.
import type { Budget } from "./budget.js";
import type {
  Environment,
  FilterNode,
  Callable,
  Interpreter,
  Jinja,
  Statement,
  StringValue,
  Value,
} from "./library.js";

/** Thrown by `break` and `continue` and caught by the loop. Carries the text written so far in this iteration. */
class LoopControl extends Error {
  text = "";
  readonly ends: boolean;

  constructor(ends: boolean) {
    super("break and continue must be inside a loop");
    this.ends = ends;
  }
}

/** Converts variables to the library's values. Throws what the library throws. */
export function environmentOf(jinja: Jinja, variables: Readonly<Record<string, unknown>>): Environment {
  const environment = new jinja.Environment();
  for (const [name, value] of Object.entries(variables)) {
    environment.variables.delete(name); // removes the library's variable if the caller's has the same name
    environment.set(name, value);
  }
  return environment;
}

/** Runs a parsed template. Throws what the library throws, and OverBudget. */
export function runTemplate(jinja: Jinja, program: unknown, environment: Environment, budget: Budget): string {
  const interpreter = new jinja.Interpreter(environment);
  limit(interpreter, budget);
  correctLoops(jinja, interpreter, budget);
  return interpreter.run(program).value;
}

/**
 * Makes loops behave as in Jinja: `break` and `continue` keep the text written so far in the iteration, and a variable set in an
 * iteration ends with it. Version 0.5 of the library silently drops that text and keeps those variables.
 */
function correctLoops(jinja: Jinja, interpreter: Interpreter, budget: Budget): void {
  // bodies of the running loops, and whether a break has ended each
  const running = new Map<readonly Statement[], { ended: boolean }>();
  const textValue = (text: string) => new jinja.Environment().set("text", text) as StringValue;

  interpreter.evaluateBlock = (statements, environment) => {
    const loop = running.get(statements);
    if (loop?.ended === true) return textValue("");
    const scope = loop === undefined ? environment : new jinja.Environment(environment);
    let text = "";
    for (const statement of statements) {
      try {
        text += evaluate(statement, scope);
        budget.checkLength(text.length);
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        error.text = text + error.text;
        if (loop === undefined) throw error;
        loop.ended = error.ends;
        return textValue(error.text);
      }
    }
    const value = textValue(text);
    budget.written(value);
    return value;
  };

  function evaluate(statement: Statement, scope: Environment): string {
    if (statement.type === "Break" || statement.type === "Continue") throw new LoopControl(statement.type === "Break");
    if (statement.type !== "For" || statement.body === undefined) return textOf(statement, scope);
    const outer = running.get(statement.body); // set if a recursive macro is already running this loop
    running.set(statement.body, { ended: false });
    try {
      return textOf(statement, scope);
    } finally {
      if (outer === undefined) running.delete(statement.body);
      else running.set(statement.body, outer);
    }
  }

  function textOf(statement: Statement, scope: Environment): string {
    const value = interpreter.evaluate(statement, scope);
    if (value.type === "StringValue") return value.value as string;
    if (value.type === "BooleanValue") return value.toString() === "true" ? "True" : "False"; // as in Python
    if (value.type === "NullValue" || value.type === "UndefinedValue") return "";
    budget.serialized(value);
    return value.toString();
  }
}

/** A node that has been evaluated, so that the library's own code gets its operands without evaluating them again. */
interface Evaluated extends Statement {
  type: "Evaluated";
  result: Value;
}

const evaluated = (result: Value): Evaluated => ({ type: "Evaluated", result });

/** Filters that take the same time whatever the length of their operand. */
const QUICK_FILTERS = ["length", "first", "last", "list", "safe", "default"];
/** Filters that look at each value inside an array or object, at any depth. */
const DEEP_FILTERS = ["tojson", "string", "join", "sort", "dictsort", "unique"];
/** Filters whose arguments are numbers or strings that the result repeats. */
const REPEATING_FILTERS = ["tojson", "join", "indent"];
const MOST_INDENT = 100;

/** Makes everything that the interpreter does pay for itself. The library's methods call each other through the object. */
function limit(interpreter: Interpreter, budget: Budget): void {
  const prototype = Object.getPrototypeOf(interpreter) as Interpreter;
  const original = <Name extends keyof Interpreter>(name: Name): Interpreter[Name] =>
    prototype[name].bind(interpreter) as Interpreter[Name];
  const evaluate = original("evaluate");
  const undefinedValue = evaluate(undefined, undefined as never);
  const nodes = new WeakMap<object, number>();

  interpreter.evaluate = (statement, environment) => {
    if (statement?.type === "Evaluated") return (statement as Evaluated).result;
    budget.spend(1);
    // the library lists the variables of a whole macro each time it is defined
    if (statement?.type === "Macro" || statement?.type === "CallStatement") budget.spend(nodesOf(statement, nodes));
    return budget.deeper(() => evaluate(statement, environment));
  };

  // the library raises an error for each variable that isn't defined, which takes long
  interpreter.evaluateIdentifier = ({ value: name }, environment) => {
    for (let scope: Environment | undefined = environment; scope !== undefined; scope = scope.parent) {
      const value = scope.variables.get(name);
      if (value !== undefined) return value;
    }
    return undefinedValue;
  };

  const evaluateBinary = original("evaluateBinaryExpression");
  interpreter.evaluateBinaryExpression = (node, environment) => {
    const operator = node.operator.value;
    if (operator === "and" || operator === "or") return evaluateBinary(node, environment);
    const left = interpreter.evaluate(node.left, environment);
    const right = interpreter.evaluate(node.right, environment);
    payForOperands(operator, left, right);
    const result = evaluateBinary({ ...node, left: evaluated(left), right: evaluated(right) }, environment);
    if (typeof result.value === "string") budget.checkLength(result.value.length);
    else budget.written(result);
    return result;
  };

  function payForOperands(operator: string, left: Value, right: Value): void {
    const isText = typeof left.value === "string" || typeof right.value === "string";
    for (const operand of [left, right]) {
      const isContainer = typeof operand.value === "object" && operand.value !== null;
      if (typeof operand.value === "string" && "~+".includes(operator)) continue; // engines join strings without reading them
      if (operator === "in" || operator === "not in" || !isContainer) budget.read(operand);
      // JavaScript turns an array into text to compare or join it with text
      else if (operator === "~" || isText || !sameKind(left, right)) budget.serialized(operand);
    }
    if (Array.isArray(right.value) && typeof left.value === "string")
      budget.spend((right.value.length * left.value.length) / 512);
  }

  const evaluateMember = original("evaluateMemberExpression");
  interpreter.evaluateMemberExpression = (node, environment) => {
    const object = interpreter.evaluate(node.object, environment);
    const isSlice = node.property.type === "SliceExpression";
    if (object.type === "StringValue") limitMethods(object as StringValue, budget);
    if (isSlice) payForCharacters(object);
    const result = evaluateMember({ ...node, object: evaluated(object) }, environment);
    if (isSlice) budget.written(result);
    return result;
  };

  const evaluateTest = original("evaluateTestExpression");
  interpreter.evaluateTestExpression = (node, environment) => {
    const operand = interpreter.evaluate(node.operand, environment);
    if (operand.type === "StringValue") budget.read(operand);
    return evaluateTest({ ...node, operand: evaluated(operand) }, environment);
  };

  const evaluateFor = original("evaluateFor");
  interpreter.evaluateFor = (node, environment) => {
    const { iterable } = node;
    const isSelect = iterable.type === "SelectExpression";
    const values = interpreter.evaluate(isSelect ? iterable.lhs : iterable, environment);
    budget.iterations(values);
    return evaluateFor(
      { ...node, iterable: isSelect ? { ...iterable, lhs: evaluated(values) } : evaluated(values) },
      environment,
    );
  };

  const evaluateCall = original("evaluateCallExpression");
  interpreter.evaluateCallExpression = (node, environment) => {
    const result = evaluateCall(node, environment);
    budget.written(result);
    return result;
  };

  const evaluateArguments = original("evaluateArguments");
  interpreter.evaluateArguments = (nodes, environment) => {
    const [values, named] = evaluateArguments(nodes, environment);
    budget.spend(values.length + named.size);
    for (const value of values) budget.read(value);
    for (const value of named.values()) budget.read(value);
    return [values, named];
  };

  const applyFilter = original("applyFilter");
  interpreter.applyFilter = (operand, filter, environment) => {
    const name = filter.type === "CallExpression" ? filter.callee?.value : filter.value;
    if (operand.type === "StringValue") limitMethods(operand as StringValue, budget);
    if (typeof operand.value === "string" && name === "join") payForCharacters(operand);
    else if (DEEP_FILTERS.includes(name as string)) budget.serialized(operand);
    else if (!QUICK_FILTERS.includes(name as string)) budget.read(operand);
    const node = REPEATING_FILTERS.includes(name as string)
      ? withLimitedArguments(operand, filter, environment)
      : filter;
    const result = applyFilter(operand, node, environment);
    if (result !== operand) budget.written(result);
    return result;
  };

  /** Evaluates the arguments of a filter, and checks how often its result may repeat them. */
  function withLimitedArguments(operand: Value, filter: FilterNode, environment: Environment): FilterNode {
    if (filter.type !== "CallExpression") return filter;
    const [values, named] = interpreter.evaluateArguments(filter.args ?? [], environment);
    const all = [...values, ...named.values()];
    const numbers = all.map(({ value }) => value).filter((value) => typeof value === "number");
    const most = Math.max(0, ...numbers);
    if (most > MOST_INDENT) throw new RangeError(`an indentation must be at most ${MOST_INDENT}`);
    if (most > 0) budget.serialized(operand, most);
    const { value } = operand;
    const repeats = typeof value === "string" ? value.length : Array.isArray(value) ? value.length : 0;
    for (const { value: text } of all) if (typeof text === "string") budget.checkLength(text.length * (repeats + 1));
    for (const item of all) if (Array.isArray(item.value)) limitSeparators(item.value as Value[]);
    if (most > 0 && typeof value === "string") budget.checkLength(value.length + most * value.split("\n").length);
    const keyed = Array.from(named, ([key, result]) => ({
      type: "KeywordArgumentExpression",
      key: { value: key },
      value: evaluated(result),
    }));
    return { ...filter, args: [...values.map(evaluated), ...keyed] };
  }

  function limitSeparators(separators: readonly Value[]): void {
    for (const { value } of separators.slice(0, 2))
      if (typeof value === "string" && value.length > MOST_INDENT)
        throw new RangeError(`a separator must have at most ${MOST_INDENT} characters`);
  }

  /** The library makes an array of a string's characters to cut it. */
  function payForCharacters(value: Value): void {
    budget.read(value);
    if (typeof value.value === "string") budget.spend(value.value.length / 32);
  }
}

function sameKind(left: Value, right: Value): boolean {
  const isContainer = ({ value }: Value): boolean => typeof value === "object" && value !== null;
  const isNothing = ({ value }: Value): boolean => value === null || value === undefined;
  return (isContainer(left) && isContainer(right)) || isNothing(left) || isNothing(right);
}

/** Makes the methods of a string, such as replace and split, pay for reading it and for what they make. */
function limitMethods(text: StringValue, budget: Budget): void {
  if (Object.hasOwn(text, "builtins")) return;
  const builtins = new Map(text.builtins);
  for (const [name, method] of builtins) {
    if (method.type !== "FunctionValue") continue;
    const call = method.value as Callable;
    method.value = ((args, scope) => {
      budget.read(text);
      for (const value of args) budget.read(value);
      if (name === "replace") checkReplaced(text.value, args, budget);
      const result = call(args, scope);
      budget.written(result);
      return result;
    }) satisfies Callable;
  }
  Object.defineProperty(text, "builtins", { value: builtins });
}

/** The library makes a regular expression of the replaced text, and engines limit their length. */
const MOST_REPLACED = 10_000;

function checkReplaced(text: string, [replaced, by]: readonly Value[], budget: Budget): void {
  if (typeof replaced?.value !== "string" || typeof by?.value !== "string") return; // the library refuses them
  const [from, to] = [replaced.value, by.value];
  if (from.length > MOST_REPLACED)
    throw new RangeError(`a text to replace must have at most ${MOST_REPLACED} characters`);
  if (text.length + (text.length + 1) * to.length <= 1000) return; // short, whatever is replaced
  let count = 0;
  if (from === "") count = text.length + 1;
  else for (let at = text.indexOf(from); at >= 0; at = text.indexOf(from, at + from.length)) count += 1;
  budget.checkLength(text.length + count * (to.length - from.length));
  budget.spend(count / 8);
}

/** The nodes below a node, counted once. */
function nodesOf(statement: Statement, counted: WeakMap<object, number>): number {
  const known = counted.get(statement);
  if (known !== undefined) return known;
  let nodes = 0;
  const open: unknown[] = [statement];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    nodes += 1;
    const below = next instanceof Map ? [...next.keys(), ...next.values()] : Object.values(next);
    for (const child of below) open.push(child);
  }
  counted.set(statement, nodes);
  return nodes;
}
