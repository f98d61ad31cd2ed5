// What the rules of includes and imports share.

/** The line that an index of a text is in, from 1. */
export function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

/** The circles of a graph, { path: [{ target }] }, each as a sentence. */
export function cyclesOf(graph, verb) {
  const done = new Set();
  const cycles = [];
  const visit = (path, trail) => {
    if (trail.includes(path)) {
      cycles.push(`${[...trail.slice(trail.indexOf(path)), path].join(" → ")}: ${verb} in a circle`);
      return;
    }
    if (done.has(path)) return;
    for (const { target } of graph.get(path) ?? []) if (target !== undefined) visit(target, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return cycles;
}
