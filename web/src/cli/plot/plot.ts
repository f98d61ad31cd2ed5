import { type Command, InvalidArgumentError, Option } from "commander";
import type { RopeConfig } from "../../config/types.js";
import { DECAY_CURVES, type DecayCurve } from "../../rope/decay.js";
import { RopewalkError } from "../../base/errors.js";
import { load } from "../../index.node.js";
import type { Ropewalk } from "../../load/runtime.js";
import { several, wholeNumber } from "../options.js";
import { writeFileWhole } from "../output_file.js";
import {
  attentions,
  decays,
  frequencies,
  type NamedConfig,
  namedConfigs,
  ramps,
  SCHEME_NAMES,
  servedLength,
} from "./data.js";
import type { Axes, Size } from "./figure.js";
import {
  addRopeOptions,
  modelRopeFrom,
  type NamedScaling,
  parseScaling,
  type RopeFlags,
  SCALING,
} from "../rope_options.js";
import { openRope } from "../source.js";
import type { Terminal } from "../terminal.js";

interface Flags extends RopeFlags {
  output?: string;
  scaling?: readonly NamedScaling[];
  length?: number;
  layerType?: string;
  title?: string;
  width: number;
  height: number;
}

/** What a plot is made of. */
interface Subject extends Size {
  rw: Ropewalk;
  configs: readonly NamedConfig[];
  /** The model's own config. */
  config: RopeConfig;
  /** Positions to plan for. */
  length: number;
  title: string | undefined;
}

/** A plot as SVG, and the numbers in it. */
interface Drawn {
  svg: string;
  /** What is drawn side by side. */
  names: readonly string[];
  data: object;
}

const EXAMPLES = `
Examples:
  ropewalk plot frequencies config.json --scaling none --scaling yarn:4 -o frequencies.svg
  ropewalk plot decay config.json --scaling none --scaling linear:4 --scaling yarn:4 > decay.svg
  ropewalk plot ramp config.json --scaling yarn:4 -o ramp.svg
  ropewalk plot attention config.json --scheme rope --scheme alibi -o attention.svg`;

/** `ropewalk plot`: pictures of what a RoPE does, as SVG for light and dark grounds. */
export function addPlot(program: Command, terminal: () => Terminal): void {
  const plot = program
    .command("plot")
    .summary("draw what a RoPE does, as SVG")
    .description("Draws what a RoPE does to pairs, scores and weights, under several scalings side by side.")
    .addHelpText("after", EXAMPLES);

  kind("frequencies", "Positions that each pair takes for a turn, or radians a position.")
    .addOption(new Option("--values <what>", "what to draw").choices(["wavelength", "inv_freq"]).default("wavelength"))
    .action((source: string, flags: Flags & { values: "wavelength" | "inv_freq" }) =>
      show(terminal(), source, flags, (subject) => drawFrequencies(subject, flags.values)),
    );
  kind("decay", "How the score of two vectors falls with their distance.")
    .addOption(
      new Option("--curve <curve>", "of equal vectors, of random ones, or RoFormer's bound")
        .choices(DECAY_CURVES)
        .default("ones"),
    )
    .option("--farthest <n>", "largest distance in positions (the length)", wholeNumber(2, 2 ** 27))
    .action((source: string, flags: Flags & { curve: DecayCurve; farthest?: number }) =>
      show(terminal(), source, flags, (subject) => drawDecay(subject, flags.curve, flags.farthest)),
    );
  kind("ramp", "The share of its frequency that each pair keeps.").action((source: string, flags: Flags) =>
    show(terminal(), source, flags, drawRamp),
  );
  kind("attention", "The weights that a head of equal queries and keys gives by position alone.")
    .option("--tokens <n>", "tokens to draw, 2 to 512", wholeNumber(2, 512), 64)
    .option("--scheme <scheme>", `${SCHEME_NAMES.join(", ")}; may be given several times (rope)`, several(parseScheme))
    .action((source: string, flags: Flags & { tokens: number; scheme?: string[] }) =>
      show(terminal(), source, flags, (subject) => drawAttention(subject, flags.tokens, flags.scheme ?? ["rope"])),
    );

  function kind(name: string, description: string): Command {
    const command = plot
      .command(name)
      .description(description)
      .argument("<source>", "config.json, .gguf or .safetensors file, folder, or the address of one")
      .option("-o, --output <file>", "SVG file to write (stdout, where that is no terminal)")
      .option("--scaling <scaling>", SCALING, several(parseScaling))
      .option("--length <n>", "positions to plan for (what the longest scaling serves)", wholeNumber(1, 2 ** 27))
      .option("--layer-type <kind>", "kind of layer, where a model's kinds differ (full_attention)")
      .option("--title <text>", "heading of the plot")
      .option("--width <n>", "pixels", wholeNumber(240, 8192), 720)
      .option("--height <n>", "pixels", wholeNumber(160, 8192), 400);
    return addRopeOptions(command);
  }
}

/** Makes a plot and hands it to a file, to stdout, or under --json the numbers in it to a program. */
async function show(
  terminal: Terminal,
  source: string,
  flags: Flags,
  draw: (subject: Subject) => Promise<Drawn>,
): Promise<void> {
  const { output, width, height, title } = flags;
  if (output === undefined && process.stdout.isTTY && !terminal.json) {
    throw new RopewalkError("INVALID_ARGUMENT", "--output", "name an SVG file, or send stdout to one with > plot.svg");
  }
  if (output !== undefined && !output.endsWith(".svg"))
    throw new RopewalkError("INVALID_ARGUMENT", "--output", `must end in .svg (got ${output})`);
  const config = await openRope(source, { overrides: modelRopeFrom(flags), layerType: flags.layerType });
  const rw = await load();
  const configs = namedConfigs(rw, config, flags.scaling);
  const length = flags.length ?? servedLength(rw, configs);
  const { svg, names, data } = await draw({ rw, config, configs, length, width, height, title });
  if (output === undefined) terminal.write(svg);
  else {
    await writeFileWhole(output, (file) => file.writeFile(svg));
    terminal.print(`${output}: ${names.join("; ")}, planned for ${length} positions`);
  }
  terminal.result({ output: output ?? null, length, ...data });
}

async function drawFrequencies(subject: Subject, values: "wavelength" | "inv_freq"): Promise<Drawn> {
  const { rw, configs, length, config } = subject;
  const series = frequencies(rw, configs, length, values);
  const { window } = rw.describe(config);
  const isWavelength = values === "wavelength";
  return lines(subject, series, {
    title: isWavelength ? "Positions that a pair takes for a turn" : "Radians a position",
    x: { label: "pair", scale: "linear" },
    y: { label: isWavelength ? "wavelength, positions" : "inv_freq, radians a position", scale: "log" },
    legend: isWavelength ? "top-left" : "bottom-left",
    ...(window !== null && {
      rules: [
        {
          axis: "y",
          at: isWavelength ? window : (2 * Math.PI) / window,
          name: `one turn in the trained length, ${window}`,
        },
      ],
    }),
  });
}

async function drawDecay(subject: Subject, curve: DecayCurve, farthest = subject.length): Promise<Drawn> {
  const { rw, configs, length, config } = subject;
  const series = decays(rw, configs, length, farthest, curve);
  const { window } = rw.describe(config);
  const what = {
    ones: "The score of two equal vectors",
    random: "The mean score of random vectors with themselves",
    bound: "RoFormer's bound of a score",
  }[curve];
  return lines(subject, series, {
    title: `${what}, by their distance`,
    x: { label: "tokens between query and key", scale: "log" },
    y: { label: "share of the score at distance 0", scale: "linear" },
    legend: "top-right",
    ...(window !== null &&
      window < farthest && { rules: [{ axis: "x", at: window, name: `trained length, ${window}` }] }),
  });
}

async function drawRamp(subject: Subject): Promise<Drawn> {
  const { rw, configs, length } = subject;
  const series = ramps(rw, configs, length);
  if (series.length === 0) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "--scaling",
      "nothing is scaled, so there is no ramp; name one, as in --scaling yarn:4",
    );
  }
  return lines(subject, series, {
    title: "The share of its frequency that a pair keeps",
    x: { label: "pair", scale: "linear" },
    y: { label: "kept share (0: divided by the factor)", scale: "linear", domain: [-0.05, 1.05] },
    legend: "top-right",
  });
}

async function drawAttention(
  { rw, configs, length, title, width, height }: Subject,
  tokens: number,
  schemes: readonly string[],
): Promise<Drawn> {
  const squares = attentions(rw, configs, schemes, tokens, length);
  const { drawWeights } = await import("./figure.js");
  const heading = title ?? "Attention of equal tokens, by position alone";
  return {
    svg: drawWeights(squares, heading, { width, height }),
    names: squares.map(({ name }) => name),
    data: { title: heading, tokens, schemes: squares.map(({ name, weights }) => ({ name, weights })) },
  };
}

async function lines(
  { title, width, height }: Subject,
  series: Parameters<typeof import("./figure.js").drawLines>[0],
  axes: Axes,
): Promise<Drawn> {
  const { drawLines } = await import("./figure.js"); // the largest part of the program
  const named = { ...axes, title: title ?? axes.title };
  return {
    svg: drawLines(series, named, { width, height }),
    names: series.map(({ name }) => name),
    data: { title: named.title, x: axes.x.label, y: axes.y.label, series },
  };
}

function parseScheme(text: string): string {
  if (SCHEME_NAMES.includes(text)) return text;
  throw new InvalidArgumentError(`Must be one of ${SCHEME_NAMES.join(", ")}.`);
}
