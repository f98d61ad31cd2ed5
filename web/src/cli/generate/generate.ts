import { type Command, Option } from "commander";
import {
  type FinishReason,
  FULL_POLICIES,
  type FullPolicy,
  type GenerateOptions,
  load,
  type Model,
  RopewalkError,
  type Session,
} from "../../index.node.js";
import { promptOf } from "./prompt.js";
import { addSamplingOptions, samplingFrom, type SamplingFlags } from "./sampling.js";
import { interruptible } from "../interrupt.js";
import { modelOptions, warnOfLength, withModel } from "../loaded_model.js";
import { ropeInALine, type Speed, speedInWords, speedOf } from "../model_text.js";
import { several, wholeNumber } from "../options.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { Terminal } from "../terminal.js";

interface Flags extends SamplingFlags, RopeFlags {
  maxTokens?: number;
  stop?: string[];
  context?: number;
  whenFull: FullPolicy;
  chat?: true;
  system?: string;
}

/** What `--json` prints. */
interface Generated {
  text: string;
  /** Ids of the tokens that the text was made of. */
  tokens: number[];
  finish: FinishReason | "interrupted";
  seed: number;
  prompt: Speed;
  generation: Speed;
  context: { tokens: number; length: number; bytes: number };
  rope: Session["rope"];
}

const EXAMPLES = `
Examples:
  ropewalk generate model.gguf "Once upon a time" --max-tokens 100
  ropewalk generate model.gguf "Name three knots." --chat --temperature 0
  ropewalk generate model.gguf - --context 8192 --rope-type yarn --factor 4 < long.txt
  ropewalk generate model.gguf "The story" --max-tokens 5000 --when-full extend --seed 1

The text goes to stdout, what is said about it to stderr. Ctrl-C ends the text and keeps what was written (exit code 130).`;

/** `ropewalk generate`: goes on with a text. */
export function addGenerate(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("generate")
    .summary("go on with a text")
    .description("Goes on with a text, by a model from a file, a folder or an address.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, or the address of either")
    .argument("<prompt>", "text to go on with; - reads it from stdin")
    .option(
      "-n, --max-tokens <n>",
      "tokens to generate at most (default: as many as fit, or 1024 with --when-full)",
      wholeNumber(0),
    )
    .option("--stop <text>", "text that ends it and is not printed; may be given several times", several(String))
    .option(
      "--context <n>",
      "tokens of the context (default: what the model was trained for, 4096 at most)",
      wholeNumber(1),
    )
    .addOption(
      new Option(
        "--when-full <policy>",
        "when the context is full: end there, take out the older half, or stretch the RoPE by YaRN",
      )
        .choices(FULL_POLICIES)
        .default("stop"),
    )
    .option("--chat", "the prompt is a message of a chat, written by the model's own template")
    .option("--system <text>", "system message before it (with --chat)");
  addSamplingOptions(command);
  addRopeOptions(command);
  command
    .addHelpText("after", EXAMPLES)
    .action((model: string, prompt: string, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, prompt, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string,
  given: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<void> {
  if (flags.system !== undefined && !flags.chat)
    throw new RopewalkError("INVALID_ARGUMENT", "--system", "goes with --chat");
  const text = await promptOf(given);
  await withModel(terminal, await load(), source, modelOptions(flags, flags.context, signal), async (model) => {
    const session = model.session();
    try {
      warnOfLength(terminal, session, model);
      const generated = await generate(terminal, session, await tokensOf(model, text, flags), flags, signal);
      terminal.note(summary(generated));
      terminal.result(generated);
      if (generated.finish === "interrupted") process.exitCode = 130;
    } finally {
      session.dispose();
    }
  });
}

async function tokensOf(model: Model, text: string, { chat, system }: Flags): Promise<Int32Array> {
  const messages = [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    { role: "user", content: text },
  ];
  const tokens = await model.promptTokens(chat ? messages : text);
  if (tokens.length === 0)
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      "prompt",
      "is empty, and this model has no token that begins a text: give some words",
    );
  return tokens;
}

async function generate(
  terminal: Terminal,
  session: Session,
  prompt: Int32Array,
  flags: Flags,
  signal: AbortSignal,
): Promise<Generated> {
  makeRoom(session, prompt.length, flags);
  const isEndless = flags.whenFull !== "stop";
  const options: GenerateOptions & { seed: number } = {
    ...samplingFrom(flags),
    whenFull: flags.whenFull,
    stop: flags.stop ?? [],
    signal,
    ...(flags.maxTokens !== undefined ? { maxTokens: flags.maxTokens } : isEndless && { maxTokens: 1024 }),
  };
  const tokens: number[] = [];
  let [text, finish]: [string, Generated["finish"]] = ["", "length"];
  const start = performance.now();
  let read = start;
  const bar = terminal.progress("Reading the prompt", prompt.length);
  try {
    await session.append(prompt, { signal, onProgress: ({ done, total }) => bar.update(done, total) });
    bar.stop();
    read = performance.now();
    for await (const piece of session.generate(options)) {
      terminal.write(piece.text);
      text += piece.text;
      tokens.push(piece.token);
      finish = piece.finish ?? finish;
    }
  } catch (error) {
    if (!signal.aborted || read === start) throw error;
    finish = "interrupted";
  } finally {
    bar.stop();
  }
  const end = performance.now();
  if (!text.endsWith("\n")) terminal.print();
  return {
    text,
    tokens,
    finish,
    seed: options.seed,
    prompt: speedOf(prompt.length, read - start),
    generation: speedOf(tokens.length, end - read),
    context: { tokens: session.length, length: session.contextLength, bytes: session.bytes },
    rope: session.rope,
  };
}

/** A prompt that does not fit is told before anything is read. */
function makeRoom(session: Session, length: number, { whenFull }: Flags): void {
  while (whenFull === "extend" && session.contextLength < length) session.extend();
  if (session.contextLength >= length) return;
  const advice = `use --context ${length + 1} or more, with a RoPE that reaches as far, or --when-full extend`;
  throw new RopewalkError(
    "INVALID_ARGUMENT",
    "prompt",
    `has ${length} tokens, and the context ${session.contextLength}: ${advice}`,
  );
}

function summary({ prompt, generation, context, rope, finish, seed }: Generated): string {
  return [
    `prompt ${prompt.tokens} tokens (${speedInWords(prompt)})`,
    `${generation.tokens} generated (${speedInWords(generation)}), ended by ${finish}`,
    `context ${context.tokens} of ${context.length}`,
    `RoPE ${ropeInALine(rope)}`,
    `seed ${seed}`,
  ].join("; ");
}
