// Draws the README's picture: the recorded story of the site's front page, as ropes, read twice. `node scripts/site/draw_story.mjs`
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runnerImport } from "vite";
import { CARD, lightAndDark, svgCard } from "../../examples/light_and_dark.mjs";
import { runMain } from "../run.mjs";

const root = join(import.meta.dirname, "..", "..");
const front = join(root, "web", "site", "front");
export const PICTURE = join(root, "docs", "pictures", "story.svg");

const settings = lightAndDark({
  ...CARD,
  card: ["#f8f4ec", "#161c21"],
  edge: ["#d9cfbb", "#37434c"],
  text: ["#1c252b", "#ece7dc"],
  faint: ["#5c5f5e", "#a9b1b5"],
  strand: ["#a5875a", "#b99a6b"],
  shade: ["#c9b083", "#87704d"],
  chosen: ["#3347c4", "#93a5ff"],
  chosenShade: ["#8f9be0", "#5a69b8"],
  right: ["#1f6e47", "#5bbd8c"],
  wrong: ["#b3261e", "#f58275"],
});
const { color } = settings;

/** Sizes in pixels. The front page has nearly the same on phones. */
const [WIDTH, COLUMN, TOP, PITCH, PERIOD, LOOSE, BEAD] = [760, 320, 66, 36, 17, 2.2, 6.5];
const LEFTS = [60, 420];

const round = (value) => Math.round(value * 10) / 10;
const line = (d, stroke, width) => `<path d="${d}" fill="none" stroke="${stroke}" stroke-width="${width}"/>`;

/** The picture as SVG text. */
export async function drawStory() {
  const load = async (name) => (await runnerImport(join(front, name))).module;
  const { recordedStory } = await load("recorded.ts");
  const { amplitudeOf, ropePaths } = await load("rope.ts");
  const { isRight, lossAt, scoreOf } = await load("story.ts");
  const story = recordedStory();
  const { trained, length, switchAt, answers } = story;

  const rope = (start, reading, isHealed) => {
    const amplitudeAt = (x) => amplitudeOf(lossAt(story, reading, start + (x / COLUMN) * trained), PERIOD, LOOSE);
    const paths = ropePaths(COLUMN, PERIOD, amplitudeAt);
    const [over, under] = isHealed ? [color.chosen, color.chosenShade] : [color.strand, color.shade];
    return [
      line(paths.first, over, 2.4),
      line(paths.secondOver, color.card, 5),
      line(paths.second, under, 2.4),
      line(paths.firstOver, color.card, 5),
      line(paths.firstOver, over, 2.4),
    ].join("");
  };
  const bead = (answer, reading, x) => {
    const good = isRight(answer, reading);
    const mark = good ? "M-2.8 .3L-.8 2.3L2.9 -2.3" : "M-2.3 -2.3L2.3 2.3M2.3 -2.3L-2.3 2.3";
    const fill = good ? color.right : color.wrong;
    return `<g transform="translate(${round(x)} 0)"><circle r="${BEAD}" fill="${fill}"/>${line(mark, color.card, 1.8)}</g>`;
  };
  const column = (reading, left, isLabeled) =>
    Array.from({ length: length / trained }, (_, i) => {
      const start = i * trained;
      const beads = answers
        .filter(({ at }) => at >= start && at < start + trained)
        .map((answer) => bead(answer, reading, ((answer.at - start) / trained) * COLUMN));
      const label = isLabeled
        ? `<text x="-14" y="4.5" text-anchor="end" fill="${color.faint}">${start.toLocaleString("en")}</text>`
        : "";
      const isHealed = reading === "yarn" && start >= switchAt;
      return `<g transform="translate(${left} ${TOP + PITCH * (i + 0.5)})">${label}${rope(start, reading, isHealed)}${beads.join("")}</g>`;
    }).join("\n");
  const heading = (left, name, reading) => {
    const { right, asked } = scoreOf(story, reading);
    return (
      `<g text-anchor="start"><text x="${left}" y="28" font-size="15" font-weight="600" fill="${color.text}">${name}</text>` +
      `<text x="${left}" y="48" fill="${color.faint}">${right} of ${asked} right from token ${switchAt} on</text></g>`
    );
  };
  const [plain, yarn] = ["plain", "yarn"].map((reading) => scoreOf(story, reading));
  const inner = [
    heading(LEFTS[0], "Plain RoPE", "plain"),
    heading(LEFTS[1], `Cache switched to YaRN at token ${switchAt}`, "yarn"),
    column("plain", LEFTS[0], true),
    column("yarn", LEFTS[1], false),
  ].join("\n");
  const picture = {
    width: WIDTH,
    height: TOP + (PITCH * length) / trained + 16,
    title: "A story read past the trained length",
    about:
      `Each rope is ${trained} tokens of a story of ${length}, loose where the words surprise the model. Beads are answers to its questions. ` +
      `From token ${switchAt} on plain RoPE has ${plain.right} of ${plain.asked} right, and YaRN ${yarn.right} of ${yarn.asked}.`,
  };
  return svgCard(picture, inner, settings);
}

await runMain(import.meta.url, async () => writeFile(PICTURE, await drawStory()));
