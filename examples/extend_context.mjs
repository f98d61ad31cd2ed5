// Extends a model's context with YaRN and its relatives, and shows the effect on each pair, on scores and on cached keys.
//
//   node examples/extend_context.mjs [config.json] [factor]
import { readFile } from "node:fs/promises";
import { styleText } from "node:util";
import { load, ropeConfig } from "ropewalk";
import { bar, linePlot } from "./terminal_plot.mjs";

const TYPES = ["default", "linear", "ntk", "dynamic", "ntk_by_parts", "yarn"];

const [file = new URL("configs/qwen2.5-7b.json", import.meta.url), givenFactor = "4"] = process.argv.slice(2);
const model = JSON.parse(await readFile(file, "utf8"));
const factor = Number(givenFactor);
const paint = (style, text) => (process.stdout.hasColors?.() ? styleText(style, text) : text); // plain when piped
const heading = (text) => console.log(`\n${paint("bold", text)}\n`);

const rw = await load();
const layer_type = "full_attention"; // in models that also have sliding-window layers
const { rope_type: original, window: trained } = rw.describe(ropeConfig(model, { layer_type }));
const length = trained * factor;
const extended = (rope_type) => {
  const isPlain = rope_type === "default";
  const rope_scaling = {
    rope_type,
    original_max_position_embeddings: trained,
    ...(!isPlain && { factor }),
    replace: true,
  };
  // dynamic scaling starts at the trained length; for the others this is the extended length
  const max_position_embeddings = isPlain || rope_type === "dynamic" ? trained : length;
  return ropeConfig(model, { layer_type, overrides: { max_position_embeddings, rope_scaling } });
};

const yarn = rw.describe(extended("yarn"), length);
console.log(
  `${model.model_type}, base ${yarn.config.rope_theta}, trained on ${trained} positions, extended by ${factor} to ${length}`,
);
if (original !== "default") console.log(`(its own scaling, ${original}, is replaced by the ones below)`);

heading("What YaRN does to each pair");
const colors = { kept: "green", blended: "yellow", interpolated: "red", scaled: "magenta", unrotated: "dim" };
const short = (number) => String(Number(number.toPrecision(4)));
console.log("  pair  wavelength   rotations in training   kept");
for (const { pair, wavelength, rotations, kept_share, treatment } of yarn.pairs.filter(({ pair }) => pair % 4 === 0)) {
  const cells = [String(pair).padStart(6), short(wavelength).padStart(11), short(rotations).padStart(21)];
  console.log(`${cells.join(" ")}   ${paint(colors[treatment], `${bar(kept_share, 20)} ${treatment}`)}`);
}
const { attention_factor } = yarn.plan;
console.log(
  `\n  YaRN multiplies cos and sin by ${attention_factor.toFixed(6)}, so logits by ${(attention_factor ** 2).toFixed(6)}`,
);

heading(`The same factor with other methods (at ${length} positions)`);
console.log("  type          stretch   pairs kept / blended / interpolated   attention   first score below zero");
for (const type of TYPES) {
  const { factor: stretch, counts, plan, first_negative_distance } = rw.describe(extended(type), length);
  const pairs = [counts.kept, counts.blended + counts.scaled, counts.interpolated]
    .map((count) => String(count).padStart(4))
    .join(" /");
  const cells = [
    type.padEnd(13),
    short(stretch).padStart(7),
    pairs.padStart(28),
    plan.attention_factor.toFixed(4).padStart(21),
  ];
  console.log(`  ${cells.join(" ")}   ${first_negative_distance ?? "none"}`);
}

heading("How the score of two equal vectors decays with distance, S(Δ) / S(0)");
const columns = 80;
const distanceAt = (column) => length ** (column / columns);
const ticks = Array.from({ length: Math.floor(Math.log10(length)) + 1 }, (_, power) => [
  (power * columns) / Math.log10(length),
  String(10 ** power),
]);
/** The score oscillates with distance, so a column shows the mean over the distances it covers. */
const decay = (config) => {
  const rope = rw.rope(config);
  const values = Array.from({ length: columns }, (_, column) => {
    const [first, next] = [distanceAt(column), distanceAt(column + 1)];
    const scores = rope.decay({ first, step: (next - first) / 64, count: 64, seqLen: length });
    return scores.reduce((sum, score) => sum + score, 0) / 64 / rope.plan().rotary_dim;
  });
  rope.dispose();
  return values;
};
const series = [
  [paint("dim", "·"), decay(extended("default"))],
  [paint("cyan", "●"), decay(yarn.config)],
];
console.log(
  linePlot(series, {
    low: -0.2,
    high: 1,
    height: 13,
    ticks: ticks.map(([column, text]) => [Math.round(column), text]),
  }),
);
console.log(`        distance (log). ${series[0][0]} unscaled, ${series[1][0]} YaRN; trained on ${trained}.`);

heading("Keys that were cached before the extension");
const [rope, before] = [rw.rope(yarn.config), rw.rope(extended("default"))];
const shape = [512, 8, yarn.plan.head_dim];
const keys = Float32Array.from({ length: shape[0] * shape[1] * shape[2] }, (_, i) => Math.cos(i * i));
const positions = trained - 512;
const cached = before.rotate(keys.slice(), { layout: "thd", shape, positions, seqLen: trained });
const moved = rope.rerotate(cached, {
  layout: "thd",
  shape,
  from: { rope: before, positions, seqLen: trained },
  to: { positions, seqLen: length },
});
const fresh = rope.rotate(keys.slice(), { layout: "thd", shape, positions, seqLen: length });
const difference = moved.reduce((largest, value, i) => Math.max(largest, Math.abs(value - fresh[i])), 0);
console.log(
  `  re-rotated from plain RoPE to YaRN, against keys rotated from scratch: largest difference ${difference.toExponential(1)}`,
);

for (const object of [rope, before]) object.dispose();

heading(`Warnings for sequences of only ${trained} positions`);
for (const type of TYPES) {
  for (const warning of rw.describe(extended(type), trained).warnings) console.log(`  ${type.padEnd(13)} ${warning}`);
}
