// Compares the names of other releases with those of this package, and leaves out what the baseline explains.

/** A name's place in the baseline: the kind, then the name or a pattern with `*`. */
const covers = ({ kind, name }, fact) =>
  kind === fact.kind && (name === fact.name || (name.includes("*") && patternOf(name).test(fact.name)));

const patternOf = (name) => new RegExp(`^${name.split("*").map(escaped).join(".*")}$`);
const escaped = (text) => text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");

/**
 * @param facts - { kind, name, value?, where, source } of the releases
 * @param known - for each kind, what the package knows (known.mjs)
 * @param baseline - { kind, name, reason } of what is unknown on purpose; a kind that `known` lacks covers nothing
 * @returns { unknown, changed, stale }: facts that aren't known; facts whose value is another one (`known`); entries of the baseline that cover
 * nothing
 */
export function compareFacts(facts, known, baseline) {
  const used = new Set();
  const unknown = [];
  const changed = [];
  for (const fact of facts) {
    const found = known[fact.kind](fact.name, fact.value);
    if (found === true) continue;
    const entry = baseline.find((one) => covers(one, fact));
    if (entry !== undefined) used.add(entry);
    else if (found === undefined) unknown.push(fact);
    else changed.push({ ...fact, known: found.value });
  }
  return { unknown, changed, stale: baseline.filter((entry) => !used.has(entry)) };
}

/** The list in Markdown: what is new by release, then what the baseline no longer needs. Empty if there is nothing to do. */
export function listOf({ unknown, changed, stale }) {
  const lines = [];
  const sources = [...new Set([...unknown, ...changed].map(({ source }) => source))];
  for (const source of sources) {
    lines.push(`## ${source}`, "");
    for (const { kind, name, where } of unknown.filter((fact) => fact.source === source))
      lines.push(`- ${kind} \`${name}\` is unknown (${where})`);
    for (const { kind, name, value, known, where } of changed.filter((fact) => fact.source === source))
      lines.push(
        `- ${kind} \`${name}\` is ${JSON.stringify(value)} there and ${JSON.stringify(known)} here (${where})`,
      );
    lines.push("");
  }
  if (stale.length > 0) lines.push("## baseline.json", "");
  for (const { kind, name } of stale)
    lines.push(`- ${kind} \`${name}\` is known now, or nowhere to be found: remove the entry`);
  return lines.join("\n").trim();
}
