// Prints docs/families.md: which model types of transformers agree with it, and which are refused and why. Run
// `node scripts/families.mjs > docs/families.md` after a build.

import { load } from "ropewalk";
import { IMAGE_ENCODERS, IMAGES } from "../build/package/core/config/families_refused.js";
import { refusalOf } from "../build/package/core/config/family_lookup.js";
import { FAMILY_ROWS, FAMILY_SOURCE, outcome, variants } from "../tests/package/helpers/family_defaults.mjs";
import { wrapped } from "./markdown.mjs";
import { runMain } from "./run.mjs";

/** The names of each group, in the order in which groups are first met. */
function grouped(entries) {
  const groups = new Map();
  for (const [group, name] of entries) groups.set(group, [...(groups.get(group) ?? []), name]);
  return groups;
}

const sections = (groups) =>
  [...groups]
    .map(
      ([group, names]) =>
        `${wrapped(`${capital(group)} (${names.length}):`.split(" "))}\n\n\`\`\`text\n${wrapped(names)}\n\`\`\``,
    )
    .join("\n\n");

const capital = (text) => text[0].toUpperCase() + text.slice(1);

export async function familiesPage() {
  const rw = await load();
  const agree = [];
  const refuse = [];
  for (const row of FAMILY_ROWS) {
    const outcomes = [...variants(row)].map(({ config, truth }) => outcome(rw, config, truth));
    const refused = outcomes.find((one) => one.refused)?.refused;
    if (outcomes[0].agrees) agree.push([pairingsOf(row), row.model_type]);
    else refuse.push([reasonOf(row, refused), row.model_type]);
  }
  return `# Model types

The RoPE that this package reads from the class defaults of every model type of ${FAMILY_SOURCE} with a rotary module,
${FAMILY_ROWS.length} of them, compared with the frequencies, pairing, head width and factors of transformers' own modules
([family_defaults.json](../tests/golden/family_defaults.json)). The defaults are compared as transformers saves them,
without the keys of RoPE, with null in them, and at another hidden size. Any other model type is refused as unknown
unless you [name its pairing](pairings.md#by-model-family). \`node scripts/families.mjs\` prints this page.

## ${agree.length} agree

${sections(grouped(agree))}

## ${refuse.length} are refused

${sections(grouped(refuse))}
`;
}

function pairingsOf({ rope }) {
  return [...new Set(Object.values(rope).map(({ pairing }) => pairing))].join(" and ");
}

/** Why a row is refused. */
function reasonOf({ model_type }, refused) {
  if (refused === undefined) return "transformers can't build the RoPE of the defaults either";
  if (refused.code === "UNKNOWN_FAMILY") return "it isn't known";
  if (refused.code === "INVALID_CONFIG" && refused.field.endsWith("model_type")) return "has no RoPE";
  const reason = refusalOf("hf", model_type) ?? (IMAGE_ENCODERS.test(model_type) ? IMAGES : undefined);
  return reason ?? refused.problem;
}

await runMain(import.meta.url, async () => process.stdout.write(await familiesPage()));
