// Draws texts of a grammar, without the automaton that is tested.

/** The least number of rules inside each other that a text of each rule needs. */
function heightsOf(grammar) {
  const heights = new Map([...grammar.keys()].map((name) => [name, Infinity]));
  for (let changed = true; changed;) {
    changed = false;
    for (const [name, expression] of grammar) {
      const height = 1 + heightOf(expression, heights);
      if (height < heights.get(name)) {
        heights.set(name, height);
        changed = true;
      }
    }
  }
  return heights;
}

function heightOf(expression, heights) {
  const of = (part) => heightOf(part, heights);
  switch (expression.kind) {
    case "rule":
      return heights.get(expression.name);
    case "sequence":
      return Math.max(0, ...expression.parts.map(of));
    case "choice":
      return Math.min(Infinity, ...expression.options.map(of));
    case "repeat":
      return expression.least === 0 ? 0 : of(expression.part);
    default:
      return 0;
  }
}

const known = new WeakMap();

/** The least number of edges from each state to one where a text may end. */
function restsOf(states) {
  let rests = known.get(states);
  if (rests !== undefined) return rests;
  rests = states.map(({ canEnd }) => (canEnd ? 0 : Infinity));
  for (let changed = true; changed;) {
    changed = false;
    for (let i = states.length - 1; i >= 0; i--) {
      const rest = Math.min(rests[i], ...states[i].edges.map(([, to]) => rests[to] + 1));
      changed ||= rest < rests[i];
      rests[i] = rest;
    }
  }
  known.set(states, rests);
  return rests;
}

/** Returns a function that draws a text. `random` gives numbers from 0 to 1. */
export function textsOf(grammar, random) {
  const heights = heightsOf(grammar);
  const below = (count) => Math.floor(random() * count);
  const draw = (expression, depth) => {
    switch (expression.kind) {
      case "text":
        return expression.text;
      case "set": {
        const [first, last] = expression.ranges[below(expression.ranges.length)];
        const end = random() < 0.8 ? Math.min(last, Math.max(first, 0x7e)) : last;
        return String.fromCodePoint(first + below(end - first + 1));
      }
      case "sequence":
        return expression.parts.map((part) => draw(part, depth)).join("");
      case "choice": {
        const least = heightOf(expression, heights);
        const options =
          depth > 0 ? expression.options : expression.options.filter((one) => heightOf(one, heights) === least);
        return draw(options[below(options.length)], depth);
      }
      case "repeat": {
        const { part, least, most } = expression;
        const more = depth > 0 ? below(Math.min(most - least, 4) + 1) : 0;
        return Array.from({ length: least + more }, () => draw(part, depth)).join("");
      }
      case "rule":
        return draw(grammar.get(expression.name), depth - 1);
      case "machine": {
        const rests = restsOf(expression.states);
        let written = "";
        for (let at = 0, steps = below(20); ; steps--) {
          const { edges, canEnd } = expression.states[at];
          if (canEnd && (steps <= 0 || edges.length === 0 || below(4) === 0)) return written;
          const nearer = edges.filter(([, to]) => rests[to] < rests[at]);
          const some = steps > 0 || nearer.length === 0 ? edges : nearer;
          const [on, to] = some[below(some.length)];
          written += draw(on, depth);
          at = to;
        }
      }
    }
  };
  return () => draw(grammar.get("root"), 8);
}

/** A generator of numbers from 0 to 1 (mulberry32, Tommy Ettinger). */
export function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
