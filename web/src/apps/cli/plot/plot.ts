// `ropewalk plot`: draws what a RoPE does, as SVG.
import * as advise from "../../../core/base/advice.js";
import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { RopeConfig } from "../../../core/config/types.js";
import { DECAY_CURVES, type DecayCurve } from "../../../core/rope/decay.js";
import { fail } from "../../../core/base/errors.js";
import { load } from "../../../index.node.js";
import type { Ropewalk } from "../../../runtime/ropewalk/ropewalk.js";
import { parseInteger, parseTokens, repeatable } from "../options.js";
import { refuseInputs } from "../command_inputs.js";
import { writeFileAtomically } from "../output_file.js";
import {
  attentions,
  decays,
  frequencies,
  type NamedConfig,
  namedConfigs,
  ramps,
  SCHEME_NAMES,
  longestSupportedLength,
} from "./data.js";
import type { Axes, Size } from "./figure.js";
import {
  addRopeOptions,
  ropeOverridesFrom,
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
  context?: number;
  layerType?: string;
  title?: string;
  width: number;
  height: number;
}

/** Input of a plot. */
interface Subject extends Size {
  rw: Ropewalk;
  configs: readonly NamedConfig[];
  /** The model's config. */
  config: RopeConfig;
  /** Length to plan for. */
  length: number;
  title: string | undefined;
}

/** A plot as SVG, and its data. */
interface Drawn {
  svg: string;
  /** Names of the lines or squares. */
  names: readonly string[];
  data: object;
}

const EXAMPLES = `
Examples:
  ropewalk plot frequencies config.json --scaling none --scaling yarn:4 -o frequencies.svg
  ropewalk plot decay config.json --scaling none --scaling linear:4 --scaling yarn:4 > decay.svg
  ropewalk plot ramp config.json --scaling yarn:4 -o ramp.svg
  ropewalk plot attention config.json --scheme rope --scheme alibi -o attention.svg`;

/** Adds `ropewalk plot`. */
export function addPlot(program: Command, terminal: () => Terminal): void {
  const plot = program
    .command("plot")
    .summary("draw plots of a RoPE as SVG")
    .description(
      "Draw plots of what a RoPE does to frequencies, scores and attention weights. Several scalings can be compared.",
    )
    .addHelpText("after", EXAMPLES)
    .exitOverride(listPlots);

  kind("frequencies", "Draw the wavelength of each pair in positions, or its frequency in radians per position.")
    .addOption(new Option("--values <what>", "what to draw").choices(["wavelength", "inv_freq"]).default("wavelength"))
    .action((source: string, flags: Flags & { values: "wavelength" | "inv_freq" }) =>
      show(terminal(), source, flags, (subject) => drawFrequencies(subject, flags.values)),
    );
  kind("decay", "Draw how the attention score of two vectors decreases with their distance.")
    .addOption(
      new Option("--curve <curve>", "score of equal vectors, of random ones, or the upper bound of the RoFormer paper")
        .choices(DECAY_CURVES)
        .default("ones"),
    )
    .option("--max-distance <n>", "largest distance in positions (default: the length)", parseTokens(2, 2 ** 27))
    .action((source: string, flags: Flags & { curve: DecayCurve; maxDistance?: number }) =>
      show(terminal(), source, flags, (subject) => drawDecay(subject, flags.curve, flags.maxDistance)),
    );
  kind("ramp", "Draw the share of its frequency that each pair keeps.").action((source: string, flags: Flags) =>
    show(terminal(), source, flags, drawRamp),
  );
  kind("attention", "Draw the attention weights of a head with equal queries and keys, which depend on positions only.")
    .option("--tokens <n>", "tokens to draw, 2 to 512", parseTokens(2, 512), 64)
    .option("--scheme <scheme>", `${SCHEME_NAMES.join(", ")}; repeatable (default: rope)`, repeatable(parseScheme))
    .action((source: string, flags: Flags & { tokens: number; scheme?: string[] }) =>
      show(terminal(), source, flags, (subject) => drawAttention(subject, flags.tokens, flags.scheme ?? ["rope"])),
    );

  function kind(name: string, description: string): Command {
    const command = plot
      .command(name)
      .description(description)
      .argument("<source>", "config.json, .gguf or .safetensors file, folder, URL of one, or name on the Hub")
      .option("-o, --output <file>", "SVG file to write (default: stdout, if it isn't a terminal)")
      .option("--scaling <scaling>", SCALING, repeatable(parseScaling))
      .option(
        "--context <n>",
        "context length in positions (default: the longest that a scaling supports)",
        parseTokens(1, 2 ** 27),
      )
      .option("--layer-type <kind>", "kind of layer, for models with several RoPEs (default: full_attention)")
      .option("--title <text>", "title of the plot")
      .option("--width <n>", "width in pixels", parseInteger(240, 8192), 720)
      .option("--height <n>", "height in pixels", parseInteger(160, 8192), 400);
    return addRopeOptions(command);
  }
}

/** Makes a plot and writes it to a file or to stdout, or its data with --json. */
async function show(
  terminal: Terminal,
  source: string,
  flags: Flags,
  draw: (subject: Subject) => Promise<Drawn>,
): Promise<void> {
  const { output, width, height, title } = flags;
  if (output === undefined && process.stdout.isTTY && !terminal.json) {
    fail(
      "INVALID_ARGUMENT",
      "--output",
      "is missing",
      advise.other("name an SVG file, or redirect stdout with > plot.svg"),
    );
  }
  if (output !== undefined && !output.endsWith(".svg"))
    fail("INVALID_ARGUMENT", "--output", `must end in .svg (got ${output})`);
  if (output !== undefined) await refuseInputs(output, [source]);
  const config = await openRope(source, { overrides: ropeOverridesFrom(flags), layerType: flags.layerType });
  const rw = await load({ threads: 1 });
  const configs = namedConfigs(rw, config, flags.scaling);
  if (configs.some((named) => named.config.position_map)) {
    const problem = `changes positions in attention, which plots of frequencies and rotations don't show`;
    const flag = flags.scaling?.some(({ overrides }) => overrides.position_map) ? "--scaling" : "--position-map";
    fail("INVALID_ARGUMENT", flag, problem, advise.other("leave it out"));
  }
  const length = flags.context ?? longestSupportedLength(rw, configs);
  const { svg, names, data } = await draw({ rw, config, configs, length, width, height, title });
  if (output === undefined) terminal.write(svg);
  else {
    await writeFileAtomically(output, (file) => file.writeFile(svg));
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
    title: isWavelength ? "Wavelength of each pair" : "Frequency of each pair",
    x: { label: "pair", scale: "linear" },
    y: { label: isWavelength ? "wavelength (positions)" : "inv_freq (radians per position)", scale: "log" },
    legend: isWavelength ? "top-left" : "bottom-left",
    ...(window !== null && {
      rules: [
        {
          axis: "y",
          value: isWavelength ? window : (2 * Math.PI) / window,
          name: `one rotation in the trained length, ${window}`,
        },
      ],
    }),
  });
}

async function drawDecay(subject: Subject, curve: DecayCurve, maxDistance = subject.length): Promise<Drawn> {
  const { rw, configs, length, config } = subject;
  const series = decays(rw, configs, length, maxDistance, curve);
  const { window } = rw.describe(config);
  const what = {
    ones: "Score of two equal vectors",
    random: "Mean score of random vectors with themselves",
    bound: "Upper bound of a score (RoFormer)",
  }[curve];
  return lines(subject, series, {
    title: `${what} by distance`,
    x: { label: "distance (positions)", scale: "log" },
    y: { label: "score relative to distance 0", scale: "linear" },
    legend: "top-right",
    ...(window !== null &&
      window < maxDistance && { rules: [{ axis: "x", value: window, name: `trained length, ${window}` }] }),
  });
}

async function drawRamp(subject: Subject): Promise<Drawn> {
  const { rw, configs, length } = subject;
  const series = ramps(rw, configs, length);
  if (series.length === 0) {
    fail(
      "INVALID_ARGUMENT",
      "--scaling",
      "none of the scalings has a ramp",
      advise.other("add one, for example --scaling yarn:4"),
    );
  }
  return lines(subject, series, {
    title: "Share of its frequency that each pair keeps",
    x: { label: "pair", scale: "linear" },
    y: { label: "kept share (0: fully interpolated)", scale: "linear", domain: [-0.05, 1.05] },
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
  const heading = title ?? "Attention weights of equal tokens, by position";
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
  const { drawLines } = await import("./figure.js"); // loaded on demand: the largest part of the program
  const named = { ...axes, title: title ?? axes.title };
  return {
    svg: drawLines(series, named, { width, height }),
    names: series.map(({ name }) => name),
    data: { title: named.title, x: axes.x.label, y: axes.y.label, series },
  };
}

/** Commander's message for an unknown plot doesn't list the plots, unless one has a similar name. */
function listPlots(error: CommanderError): never {
  if (error.code !== "commander.unknownCommand" || error.message.includes("Did you mean")) throw error;
  const message = `${error.message}; choose a plot: frequencies, decay, ramp or attention`;
  throw new CommanderError(error.exitCode, error.code, message);
}

function parseScheme(text: string): string {
  if (SCHEME_NAMES.includes(text)) return text;
  throw new InvalidArgumentError(`Must be one of ${SCHEME_NAMES.join(", ")}.`);
}
