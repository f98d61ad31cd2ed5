// `ropewalk chat`: a conversation with a model.
import * as advise from "../../../core/base/advice.js";
import { createInterface, type Interface } from "node:readline/promises";
import { stat } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";
import type { Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import type { Model } from "../../../index.node.js";
import { withFieldNames } from "../../../core/base/field_names.js";
import { ropeSummary, formatSpeed } from "../format.js";
import { formatFrom } from "../generate/format_flags.js";
import { samplingFrom, seedOption, temperatureOption } from "../generate/sampling.js";
import {
  addTextOptions,
  contextOption,
  type TextFlags,
  whenFullOption,
  withTextModel,
} from "../generate/text_command.js";
import { kvKeysOption } from "../kv_option.js";
import { interruptible } from "../interrupt.js";
import {
  chatTemplateOption,
  chatTokens,
  type MessageFlags,
  messageOptions,
  modelSummary,
  requireTemplate,
} from "../loaded_model.js";
import { GROUPS } from "../option_groups.js";
import { parseTokens } from "../options.js";
import { checkOutputFile } from "../output_file.js";
import { errorInWords } from "../report_error.js";
import { ropeOverridesFrom } from "../rope_options.js";
import type { Terminal } from "../terminal.js";
import { chatHelp, loadFrom, runChatCommand, saveTo } from "./commands.js";
import { type Answer, type AnswerOptions, Conversation } from "./conversation.js";

interface Flags extends TextFlags, MessageFlags {
  maxTokens: number;
  session?: string;
}

const EXAMPLES = `
Ctrl-C ends an answer. Press it twice to leave.

Examples:
  ropewalk chat model.gguf --system "Answer in one sentence."
  echo "What is a bowline?" | ropewalk chat model.gguf --temperature 0`;

/** Adds `ropewalk chat`. */
export function addChat(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("chat")
    .summary("chat with a model")
    .description("Chat with a model that has a chat template. If stdin isn't a terminal, each line of it is a message.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .optionsGroup(GROUPS.common)
    .option("--system <text>", "system message (default: none)")
    .option("-n, --max-tokens <n>", "maximum number of tokens in an answer", parseTokens(1), 512)
    .addOption(contextOption())
    .addOption(temperatureOption())
    .addOption(seedOption())
    .option(
      "--session <file>",
      "continue the chat in this file if there is one, with its RoPE and context length unless options give others, and save it there at the end",
    )
    .optionsGroup(GROUPS.messages)
    .addOption(chatTemplateOption())
    .addOption(messageOptions()[0]!)
    .addOption(messageOptions()[1]!)
    .addOption(whenFullOption("extend", "remove the oldest messages"));
  addTextOptions(command);
  command.optionsGroup(GROUPS.memory).addOption(kvKeysOption());
  command
    .addHelpText("after", `\nChat commands:\n${chatHelp()}\n${EXAMPLES}`)
    .action((model: string, flags: Flags) =>
      interruptible((signal) => run(terminal(), model, flags, signal, (error) => errorInWords(error, command))),
    );
}

async function run(
  terminal: Terminal,
  source: string,
  flags: Flags,
  signal: AbortSignal,
  inWords: (error: unknown) => string,
): Promise<void> {
  const format = await formatFrom(flags);
  if (flags.session !== undefined) await checkOutputFile(flags.session, "--session");
  await withTextModel(terminal, source, flags, signal, async (model, options, drafting) => {
    requireTemplate(model, "use ropewalk generate");
    if (flags.chatTemplate !== undefined) await model.renderChat([{ role: "user", content: "" }]); // its errors now, not at the first message
    const conversation = new Conversation(model, flags.system, options, (messages) =>
      chatTokens(terminal, model, messages, flags),
    );
    try {
      if (flags.session !== undefined) await continueChat(terminal, model, conversation, flags.session, flags);
      const { maxTokens, whenFull } = flags;
      await new Chat(
        terminal,
        model,
        conversation,
        { ...samplingFrom(flags), ...format, ...drafting, maxTokens, whenFull },
        signal,
        inWords,
      ).run();
      if (flags.session !== undefined) terminal.note(await saveSession(conversation, model, flags.session));
    } finally {
      conversation.session.dispose();
    }
  });
}

/** Saves the chat of --session, as /save. */
function saveSession(conversation: Conversation, model: Model, path: string): Promise<string> {
  return withFieldNames(
    () => "--session",
    () => saveTo(conversation, model, path),
  );
}

/** Loads the chat of --session, if there is one. It keeps its RoPE and its context length, unless options give others. */
async function continueChat(
  terminal: Terminal,
  model: Model,
  conversation: Conversation,
  path: string,
  flags: Flags,
): Promise<void> {
  if ((await stat(path).catch(() => undefined)) === undefined) return;
  const [system] = conversation.messages;
  terminal.note(
    await loadFrom(conversation, model, path, {
      rope: ropeOverridesFrom(flags) === undefined ? "saved" : "model",
      keepsLength: flags.context !== undefined,
    }),
  );
  const [first] = conversation.messages;
  if (system !== undefined && (first?.role !== "system" || first.content !== system.content))
    fail(
      "INVALID_ARGUMENT",
      "--system",
      `differs from that of the chat in ${path}`,
      advise.other("leave it out, or name another file"),
    );
}

/** Reads messages from stdin and prints answers on stdout, everything else on stderr. */
class Chat {
  readonly #terminal: Terminal;
  readonly #model: Model;
  readonly #conversation: Conversation;
  readonly #options: AnswerOptions;
  readonly #interrupted: AbortSignal;
  readonly #inWords: (error: unknown) => string;
  readonly #answers: Answer[] = [];
  readonly #isInteractive = process.stdin.isTTY && process.stderr.isTTY;
  readonly #lines: Interface;
  #isOpen = true;
  #answering: AbortController | undefined;
  #wasInterrupted = false; // whether the previous input was Ctrl-C

  constructor(
    terminal: Terminal,
    model: Model,
    conversation: Conversation,
    options: AnswerOptions,
    interrupted: AbortSignal,
    inWords: (error: unknown) => string,
  ) {
    this.#terminal = terminal;
    this.#model = model;
    this.#conversation = conversation;
    this.#options = options;
    this.#interrupted = interrupted;
    this.#inWords = inWords;
    this.#lines = createInterface({
      input: process.stdin,
      ...(this.#isInteractive && { output: process.stderr, prompt: "> " }),
    });
    this.#lines.once("close", () => (this.#isOpen = false));
  }

  async run(): Promise<void> {
    this.#interrupted.addEventListener("abort", () => {
      process.exitCode = 130;
      this.#lines.close();
    });
    this.#lines.on("SIGINT", () => this.#interrupt()); // readline in raw mode gets Ctrl-C as a key
    try {
      if (this.#isInteractive) {
        this.#terminal.note(
          `${modelSummary(this.#model)}\nRoPE ${ropeSummary(this.#model.rope)}. Type /help for commands, Ctrl-D to leave.`,
        );
      }
      this.#prompt();
      for await (const line of this.#lines) {
        this.#wasInterrupted = false;
        if (line.trim() === "/exit") break;
        if (line.trim() !== "") await this.#handle(line.trim());
        await setImmediate(); // lets the event loop deliver Ctrl-C between short answers
        if (this.#interrupted.aborted) break;
        this.#prompt();
      }
    } finally {
      this.#lines.close();
    }
    const { session, messages } = this.#conversation;
    const context = { tokens: session.length, length: session.contextLength };
    this.#terminal.result({
      model: this.#model.info.name,
      messages,
      answers: this.#answers,
      context,
      rope: session.rope,
    });
  }

  async #handle(line: string): Promise<void> {
    try {
      if (line.startsWith("/")) this.#terminal.note(await runChatCommand(line, this.#conversation, this.#model));
      else await this.#answer(line);
    } catch (error) {
      if (!this.#isInteractive) throw error;
      this.#terminal.note(this.#inWords(error));
    }
  }

  async #answer(line: string): Promise<void> {
    this.#answering = new AbortController();
    try {
      const signal = AbortSignal.any([this.#answering.signal, this.#interrupted]);
      const answer = await this.#conversation.answer(line, this.#options, signal, (text) => this.#terminal.write(text));
      this.#terminal.print();
      this.#answers.push(answer);
      if (this.#isInteractive) this.#terminal.note(this.#summary(answer));
    } finally {
      this.#answering = undefined;
    }
  }

  #summary({ finish, prompt, generation, removed }: Answer): string {
    const { session } = this.#conversation;
    return [
      `${finish === "end" ? "" : `[${finish}] `}${generation.tokens} tokens (${formatSpeed(generation)}) after ${(prompt.milliseconds / 1000).toFixed(2)} s`,
      `context ${session.length} of ${session.contextLength}`,
      `RoPE ${ropeSummary(session.rope)}${removed === 0 ? "" : `; ${removed} old messages removed`}`,
    ].join("; ");
  }

  #interrupt(): void {
    if (this.#answering !== undefined) this.#answering.abort();
    else if (this.#wasInterrupted) this.#lines.close();
    else {
      this.#wasInterrupted = true;
      this.#terminal.note("\nPress Ctrl-C again to leave.");
      this.#prompt();
    }
  }

  #prompt(): void {
    if (this.#isInteractive && this.#isOpen) this.#lines.prompt();
  }
}
