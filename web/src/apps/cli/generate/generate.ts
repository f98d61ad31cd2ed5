// `ropewalk generate`: continues a prompt.
import * as advise from "../../../core/base/advice.js";
import { text as readStream } from "node:stream/consumers";
import type { Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import type { FinishReason, GenerateOptions, Model, Piece, Session } from "../../../index.node.js";
import { ropeSummary, type Speed, formatSpeed, speedOf } from "../format.js";
import { interruptible } from "../interrupt.js";
import { chatTemplateOption, chatTokens, type MessageFlags, messageOptions, requireTemplate } from "../loaded_model.js";
import { GROUPS } from "../option_groups.js";
import { parseInteger, parseTokens, repeatable } from "../options.js";
import { checkOutputFile } from "../output_file.js";
import type { Terminal } from "../terminal.js";
import { formatFrom } from "./format_flags.js";
import { logprobsOf, logprobsTable, type TokenLogprobs } from "./logprobs.js";
import { samplingFrom, seedOption, temperatureOption } from "./sampling.js";
import { keepSession, openSession } from "./session_file.js";
import {
  addTextOptions,
  contextOption,
  type DraftOptions,
  type TextFlags,
  whenFullOption,
  withTextModel,
} from "./text_command.js";

interface Flags extends TextFlags, MessageFlags {
  maxTokens?: number;
  stop?: string[];
  ignoreEnd?: true;
  chat?: true;
  session?: string;
  keep?: number;
  logprobs?: number;
}

/** What `--json` prints. */
interface Generated {
  text: string;
  /** Ids of the generated tokens. */
  tokens: number[];
  finish: FinishReason | "interrupted";
  seed: number;
  /** Tokens of the prompt that were read: without those that --session had. */
  prompt: Speed;
  generation: Speed;
  context: { tokens: number; length: number; bytes: number };
  rope: Session["rope"];
  /** With --logprobs. */
  logprobs?: TokenLogprobs[];
}

const EXAMPLES = `
Examples:
  ropewalk generate model.gguf "Once upon a time" --max-tokens 100
  ropewalk generate model.gguf "Name three knots." --chat --temperature 0
  ropewalk generate model.gguf "Is a reef knot safe?" --chat --choice yes --choice no
  ropewalk generate model.gguf "Name three knots." --chat --lora sailor/ --lora brief.gguf:0.5
  ropewalk generate model.gguf - --context 8192 --rope-type yarn --factor 4 < long.txt
  ropewalk generate model.gguf - --session notes.session < long.txt
  ropewalk generate model.gguf "The story" --max-tokens 5000 --when-full extend --seed 1

The text is printed on stdout, a summary on stderr. Ctrl-C ends the text early (exit code 130).`;

/** Adds `ropewalk generate`. */
export function addGenerate(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("generate")
    .summary("generate text from a prompt")
    .description("Generate text that continues a prompt.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .argument("<prompt>", "prompt; - reads it from stdin, without a line break at its end")
    .optionsGroup(GROUPS.common)
    .option(
      "-n, --max-tokens <n>",
      "maximum number of tokens to generate (default: as many as fit, or 1024 with --when-full shift or extend)",
      parseTokens(1),
    )
    .option("--chat", "treat the prompt as a chat message, formatted with the model's chat template")
    .option("--system <text>", "system message (with --chat)")
    .addOption(contextOption())
    .addOption(temperatureOption())
    .addOption(seedOption())
    .option(
      "--session <file>",
      "keep what was read in a file: a later prompt with the same beginning reads only the rest; the file is made or replaced",
    )
    .option("--logprobs <n>", "show each token with the n most probable ones at its place", parseInteger(1))
    .optionsGroup(GROUPS.messages)
    .addOption(chatTemplateOption())
    .addOption(messageOptions()[0]!)
    .addOption(messageOptions()[1]!)
    .optionsGroup(GROUPS.ending)
    .option("--stop <text>", "stop string: generation ends before it; repeatable", repeatable(String))
    .option("--ignore-end", "continue when the model generates an end token")
    .addOption(whenFullOption("stop", "discard the older half"))
    .option("--keep <n>", "first tokens that --when-full shift never discards (default: 4)", parseTokens(0));
  addTextOptions(command);
  command
    .addHelpText("after", EXAMPLES)
    .action((model: string, prompt: string, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, prompt, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string,
  prompt: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<void> {
  for (const [option, value] of [
    ["--system", flags.system],
    ["--chat-template", flags.chatTemplate],
    ["--template-name", flags.templateName],
    ["--no-parse-special", flags.parseSpecial ? undefined : ""],
  ] as const)
    if (value !== undefined && !flags.chat) fail("INVALID_ARGUMENT", option, "needs --chat");
  const format = await formatFrom(flags);
  if (flags.session !== undefined) await checkOutputFile(flags.session, "--session");
  const text = prompt === "-" ? await readPrompt() : prompt;
  await withTextModel(terminal, source, flags, signal, async (model, options, drafting) => {
    const tokens = await tokensOf(terminal, model, text, flags);
    const session = await openSession(model, flags.session, options, tokens);
    try {
      const { pieces, ...generated } = await generate(
        terminal,
        session,
        tokens,
        flags,
        { ...format, ...drafting },
        signal,
      );
      await keepSession(session, flags.session);
      const logprobs = flags.logprobs === undefined ? undefined : logprobsOf(pieces, model.tokenizer);
      if (logprobs !== undefined && !terminal.json) terminal.note(logprobsTable(terminal, logprobs));
      terminal.note(summary(generated));
      terminal.result({ ...generated, ...(logprobs !== undefined && { logprobs }) });
      if (generated.finish === "interrupted") process.exitCode = 130;
    } finally {
      session.dispose();
    }
  });
}

/** Reads a prompt from stdin. `echo` ends it with a line break that isn't meant: models answer otherwise after one. */
async function readPrompt(): Promise<string> {
  return (await readStream(process.stdin)).replace(/\r?\n$/, "");
}

async function tokensOf(terminal: Terminal, model: Model, text: string, flags: Flags): Promise<Int32Array> {
  const { chat, system } = flags;
  const messages = [
    ...(system === undefined ? [] : [{ role: "system", content: system }]),
    { role: "user", content: text },
  ];
  if (chat) requireTemplate(model, "leave out --chat");
  const tokens = chat ? await chatTokens(terminal, model, messages, flags) : await model.promptTokens(text);
  if (tokens.length === 0)
    fail("INVALID_ARGUMENT", "prompt", "is empty, and this model has no begin token", advise.other("pass some text"));
  return tokens;
}

async function generate(
  terminal: Terminal,
  session: Session,
  prompt: Int32Array,
  flags: Flags,
  more: DraftOptions & Pick<GenerateOptions, "format">,
  signal: AbortSignal,
): Promise<Generated & { pieces: Piece[] }> {
  ensureFits(session, prompt.length, flags);
  const isEndless = flags.whenFull !== "stop";
  const options: GenerateOptions & { seed: number } = {
    ...samplingFrom(flags),
    ...more,
    whenFull: flags.whenFull,
    stop: flags.stop ?? [],
    ...(flags.ignoreEnd && { ignoreEnd: true }),
    ...(flags.keep !== undefined && { keep: flags.keep }),
    ...(flags.logprobs !== undefined && { logprobs: flags.logprobs }),
    signal,
    ...(flags.maxTokens !== undefined ? { maxTokens: flags.maxTokens } : isEndless && { maxTokens: 1024 }),
  };
  const pieces: Piece[] = [];
  let [text, finish]: [string, Generated["finish"]] = ["", "length"];
  const start = performance.now();
  let promptEnd = start;
  const cached = session.length;
  const bar = terminal.progress("Reading the prompt", "tokens", prompt.length - cached);
  try {
    await session.append(prompt.subarray(cached), { signal, onProgress: ({ done, total }) => bar.update(done, total) });
    bar.stop();
    promptEnd = performance.now();
    for await (const piece of session.generate(options)) {
      terminal.write(piece.text);
      text += piece.text;
      pieces.push(piece);
      finish = piece.finish ?? finish;
    }
  } catch (error) {
    if (!signal.aborted || promptEnd === start) throw error;
    finish = "interrupted";
  } finally {
    bar.stop();
  }
  const end = performance.now();
  if (!text.endsWith("\n")) terminal.print();
  return {
    text,
    tokens: pieces.map(({ token }) => token),
    finish,
    seed: options.seed,
    prompt: speedOf(prompt.length - cached, promptEnd - start),
    generation: speedOf(pieces.length, end - promptEnd),
    context: { tokens: session.length, length: session.contextLength, bytes: session.bytes },
    rope: session.rope,
    pieces,
  };
}

/** Extends the context for a long prompt, or throws before anything is read. */
function ensureFits(session: Session, length: number, { whenFull }: Flags): void {
  while (whenFull === "extend" && session.contextLength < length) session.extend();
  if (session.contextLength >= length) return;
  const shifts = whenFull === "shift" ? ". --when-full shift makes room only while the model writes" : "";
  const advice = `use --context ${length + 1} or more, with a RoPE for that length, or --when-full extend${shifts}`;
  fail(
    "INVALID_ARGUMENT",
    "prompt",
    `has ${length} tokens, but the context length is ${session.contextLength}`,
    advise.other(advice),
  );
}

function summary({ prompt, generation, context, rope, finish, seed }: Generated): string {
  return [
    `prompt ${prompt.tokens} tokens (${formatSpeed(prompt)})`,
    `${generation.tokens} generated (${formatSpeed(generation)}), finish reason ${finish}`,
    `context ${context.tokens} of ${context.length}`,
    `RoPE ${ropeSummary(rope)}`,
    `seed ${seed}`,
  ].join("; ");
}
