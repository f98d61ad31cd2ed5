// `ropewalk search`: searches a longrope scaling with which a model reads a length, and writes it as keys of a config.json.
import * as advise from "../../../core/base/advice.js";
import type { Command } from "commander";
import { fail, RopewalkError } from "../../../core/base/errors.js";
import { load, type Model, type Ropewalk } from "../../../index.node.js";
import { needleTexts } from "../../search/needles.js";
import { type RopeSearchResult, searchRope } from "../../search/search.js";
import type { SearchText } from "../../search/texts.js";
import { type FoundInWindow, foundInWindow } from "../../search/window.js";
import { refuseInputs } from "../command_inputs.js";
import { warningExceptLength } from "../command_words.js";
import { readTextFile } from "../input_file.js";
import { Interrupted, interruptible } from "../interrupt.js";
import { type KvFlags, kvOption } from "../kv_option.js";
import { modelOptions, requireText, withModel } from "../loaded_model.js";
import { parseDuration, parseInteger, parseNumber, parseTokens } from "../options.js";
import { checkOutputFile, writeFileAtomically } from "../output_file.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { checkWarning, windowWarning } from "./judge_result.js";
import { openState } from "./state_file.js";
import { readTexts } from "./texts_file.js";
import { type ConfigFile, configWith, readModelConfig } from "./whole_config.js";

interface Flags extends ThreadFlags, KvFlags, QuantizeFlags {
  length: number;
  output: string;
  wholeConfig?: true;
  text?: string;
  count?: number;
  needles?: number;
  texts?: string;
  checkTexts?: string;
  trainedLength?: number;
  evaluations?: number;
  time?: number;
  otherTokens?: number;
  seed: number;
  state?: string;
}

const EXAMPLES = `
Candidates are mutations and mixtures of PI, NTK-aware, YaRN and LongRoPE2's scalings. Each reads all texts, unless its losses so far are already too
high. Without --texts, the texts hide numbers and ask for them at the end, which a model must be able to answer inside its window; others of this
kind check the result.
With --state, a search that was interrupted goes on when the same command is given again.

Lines of --texts and --check-texts are JSON lists of pieces: strings, and {"answer": string} for those that count.
  ["The red ball is in the garden. … The red ball is in the", {"answer": " garden"}, "."]

Examples:
  ropewalk search model.gguf --length 16384 --time 30m --state search.jsonl -o longrope.json
  ropewalk search ./model --length 32k --text book.txt --count 4 --whole-config -o config.json
  ropewalk search ./model --length 4096 --texts texts.jsonl --check-texts more.jsonl -o longrope.json`;

/** Adds `ropewalk search`. */
export function addSearch(program: Command, terminal: () => Terminal): void {
  program
    .command("search")
    .summary("search a longrope scaling for a longer context")
    .description(
      "Search the factors of a longrope scaling for a model and a context length, as LongRoPE and LongRoPE2 do: by evolution, guided by the losses of answers that need what a text said long before. Writes them as keys of a config.json.",
    )
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .requiredOption(
      "--length <n>",
      "tokens that the model should read, more than it was trained on",
      parseTokens(2, 2 ** 24),
    )
    .requiredOption("-o, --output <file>", "JSON file to write: max_position_embeddings and rope_scaling")
    .option("--whole-config", "write the whole config.json of the model's folder, with the scaling")
    .option("--text <file>", "text between the hidden numbers (default: plain sentences)")
    .option("--count <n>", "texts to search on, and as many to check the result (default: 2)", parseInteger(1, 1000))
    .option("--needles <n>", "numbers hidden in each text (default: 8)", parseInteger(1, 64))
    .option("--texts <file>", "your own texts to search on, with answers, as JSON lines")
    .option("--check-texts <file>", "your own texts to check the result on (default with --texts: none)")
    .option(
      "--trained-length <n>",
      "tokens that the model was trained on (default: as the model says)",
      parseTokens(2, 2 ** 24),
    )
    .option("--evaluations <n>", "the most candidates to read texts with (default: 300)", parseInteger(10, 100_000))
    .option(
      "--time <duration>",
      "time after which none is begun, for example 90s, 25m or 2h (default: no limit)",
      parseDuration,
    )
    .option(
      "--other-tokens <weight>",
      "weight of the tokens that belong to no answer, 0 to 1 (default: 0)",
      parseNumber(0, 1),
    )
    .option("--seed <n>", "seed of the texts and mutations", parseInteger(0, 2 ** 32 - 2), 1)
    .option("--state <file>", "file that keeps each evaluation, and from which a search goes on")
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addOption(kvOption())
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: Flags) => interruptible((signal) => run(terminal(), model, flags, signal)));
}

async function run(terminal: Terminal, source: string, flags: Flags, signal: AbortSignal): Promise<void> {
  checkFlags(flags);
  const inputs = [source, ...[flags.text, flags.texts, flags.checkTexts].flatMap((path) => path ?? [])];
  for (const [field, path] of [
    ["--output", flags.output],
    ["--state", flags.state],
  ] as const) {
    if (path === undefined) continue;
    await refuseInputs(path, inputs, field);
    await checkOutputFile(path, field);
  }
  const config = flags.wholeConfig === undefined ? undefined : await readModelConfig(source);
  const makers = await textsOf(flags);
  const rw = await load({ threads: flags.threads });
  const options = await modelOptions(flags, flags.length, signal);
  const search = async (model: Model): Promise<void> => {
    requireText(model);
    const inWindow = await makers.inWindow(rw, model, signal);
    const warning = inWindow && windowWarning(inWindow);
    if (warning !== undefined) terminal.note(warning);
    const texts = await makers.texts(model);
    const checkTexts = await makers.checkTexts(model);
    const { length, trainedLength, otherTokens, seed } = flags;
    const state = await openState(flags.state, { model: model.info, length, trainedLength, otherTokens, seed, texts });
    if (state.evaluated.length > 0)
      terminal.note(`${flags.state}: going on after ${state.evaluated.length} candidates`);
    const result = await withProgress(terminal, "Searching", "candidates", (update) =>
      searchRope(rw, model, {
        length,
        texts,
        seed,
        evaluated: state.evaluated,
        onEvaluation: state.keep,
        onProgress: ({ done, total }) => update(done, total),
        signal,
        ...(checkTexts !== undefined && { checkTexts }),
        ...(trainedLength !== undefined && { trainedLength }),
        ...(otherTokens !== undefined && { otherTokens }),
        ...(flags.evaluations !== undefined && { evaluations: flags.evaluations }),
        ...(flags.time !== undefined && { seconds: flags.time }),
      }),
    ).catch((error: unknown) => {
      throw error instanceof Interrupted ? new Interrupted(state.kept()) : error;
    });
    await writeResult(terminal, flags.output, result, config);
  };
  await withModel(terminal, rw, source, options, search, warningExceptLength);
}

function checkFlags({ texts, checkTexts, text, count, needles }: Flags): void {
  const ofNeedles = Object.entries({ "--text": text, "--count": count, "--needles": needles });
  const [given] = ofNeedles.find(([, value]) => value !== undefined) ?? [];
  if (texts !== undefined && given !== undefined) fail("INVALID_ARGUMENT", given, "can't be combined with --texts");
  if (checkTexts !== undefined && texts === undefined)
    fail("INVALID_ARGUMENT", "--check-texts", "needs --texts", advise.other("leave it out, or pass both"));
}

/** Makes the texts to search on and to check on, which may need the model's tokenizer. */
interface TextMakers {
  texts(model: Model): Promise<SearchText[]>;
  checkTexts(model: Model): Promise<SearchText[] | undefined>;
  /** Whether the model finds what the texts hide, inside its window; undefined for texts of one's own. */
  inWindow(rw: Ropewalk, model: Model, signal: AbortSignal): Promise<FoundInWindow | undefined>;
}

async function textsOf({ texts, checkTexts, text, ...flags }: Flags): Promise<TextMakers> {
  if (texts !== undefined) {
    const [given, check] = [await readTexts(texts), checkTexts === undefined ? undefined : await readTexts(checkTexts)];
    return {
      texts: () => Promise.resolve(given),
      checkTexts: () => Promise.resolve(check),
      inWindow: () => Promise.resolve(undefined),
    };
  }
  const filler = text === undefined ? undefined : await readTextFile(text);
  const { length, seed, count, needles, trainedLength } = flags;
  const hidden = { length, ...(needles !== undefined && { needles }), ...(filler !== undefined && { filler }) };
  const made = ({ tokenizer }: Model, textSeed: number): Promise<SearchText[]> =>
    needleTexts(tokenizer, { ...hidden, seed: textSeed, ...(count !== undefined && { count }) }).catch(withFlags);
  return {
    texts: (model) => made(model, seed),
    checkTexts: (model) => made(model, seed + 1),
    inWindow: (rw, model, signal) => foundInWindow(rw, model, { ...hidden, seed, trainedLength, signal }),
  };
}

/** Rejects with an error of needleTexts(), whose advice names options. */
function withFlags(error: unknown): never {
  if (!(error instanceof RopewalkError) || error.field !== "length") throw error;
  return fail(error.code, error.field, error.problem, advise.other("use fewer --needles, or your own --texts"));
}

async function writeResult(
  terminal: Terminal,
  output: string,
  result: RopeSearchResult,
  config: ConfigFile | undefined,
): Promise<void> {
  const written = config === undefined ? result.rope : configWith(config, result.rope);
  await writeFileAtomically(output, (file) => file.writeFile(`${JSON.stringify(written, undefined, 1)}\n`));
  const { compared, evaluations, abandoned, ended } = result;
  terminal.result({ output, ...result });
  const hasCheck = compared.some(({ checked }) => checked !== undefined);
  const rows = compared.map(({ name, loss, checked }) => [
    name,
    loss.toFixed(4),
    ...(checked === undefined ? [] : [checked.loss.toFixed(4), `${(100 * checked.right).toFixed(1)} %`]),
  ]);
  const head = ["scaling", "loss (nats)", ...(hasCheck ? ["answers in other texts", "right"] : [])];
  terminal.print(terminal.table(rows, { head, align: "lr" }));
  const reason = ended === "time" ? ", until the time was over" : "";
  const warning = checkWarning(compared);
  if (warning !== undefined) terminal.note(warning);
  terminal.print(`\n${output}: longrope, ${evaluations} candidates, ${abandoned} of them given up early${reason}`);
}
