import { createInterface, type Interface } from "node:readline/promises";
import { setImmediate } from "node:timers/promises";
import { type Command, Option } from "commander";
import { FULL_POLICIES, type FullPolicy, load, type Model, RopewalkError } from "../../index.node.js";
import { chatHelp, runChatCommand } from "./commands.js";
import { type Answer, type AnswerOptions, Conversation } from "./conversation.js";
import { addSamplingOptions, samplingFrom, type SamplingFlags } from "../generate/sampling.js";
import { interruptible } from "../interrupt.js";
import { modelInALine, modelOptions, warnOfLength, withModel } from "../loaded_model.js";
import { ropeInALine, speedInWords } from "../model_text.js";
import { wholeNumber } from "../options.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { Terminal } from "../terminal.js";

interface Flags extends SamplingFlags, RopeFlags {
  system?: string;
  context?: number;
  maxTokens: number;
  whenFull: FullPolicy;
}

const EXAMPLES = `
Ctrl-C ends an answer, and twice the chat.

Examples:
  ropewalk chat model.gguf --system "Answer in one sentence."
  echo "What is a bowline?" | ropewalk chat model.gguf --temperature 0`;

/** `ropewalk chat`: a conversation with a model. */
export function addChat(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("chat")
    .summary("talk with a model")
    .description(
      "A conversation with a model, by its own chat template. Lines that do not come from a terminal are said one after the other.",
    )
    .argument("<model>", "GGUF file, folder with safetensors and config.json, or the address of either")
    .option("--system <text>", "what the model is told first (default: nothing)")
    .option("-n, --max-tokens <n>", "tokens of an answer at most", wholeNumber(1), 512)
    .option(
      "--context <n>",
      "tokens of the context (default: what the model was trained for, 4096 at most)",
      wholeNumber(1),
    )
    .addOption(
      new Option(
        "--when-full <policy>",
        "when the context is full: stop there, forget the oldest messages (shift), or stretch the RoPE by YaRN",
      )
        .choices(FULL_POLICIES)
        .default("extend"),
    );
  addSamplingOptions(command);
  addRopeOptions(command);
  command
    .addHelpText("after", `\nIn the chat:\n${chatHelp()}\n${EXAMPLES}`)
    .action((model: string, flags: Flags) => interruptible((signal) => run(terminal(), model, flags, signal)));
}

async function run(terminal: Terminal, source: string, flags: Flags, signal: AbortSignal): Promise<void> {
  await withModel(terminal, await load(), source, modelOptions(flags, flags.context, signal), async (model) => {
    if (model.chatTemplate === undefined) {
      throw new RopewalkError(
        "UNSUPPORTED_MODEL",
        `${model.info.name}: chat_template`,
        "is not there: this model holds no chats; use ropewalk generate",
      );
    }
    const conversation = new Conversation(model, flags.system);
    try {
      warnOfLength(terminal, conversation.session, model);
      const { maxTokens, whenFull } = flags;
      await new Chat(terminal, model, conversation, { ...samplingFrom(flags), maxTokens, whenFull }, signal).hold();
    } finally {
      conversation.session.dispose();
    }
  });
}

/** Lines come in, answers go out: those to stdout, all else to stderr. */
class Chat {
  readonly #terminal: Terminal;
  readonly #model: Model;
  readonly #conversation: Conversation;
  readonly #options: AnswerOptions;
  readonly #interrupted: AbortSignal;
  readonly #answers: Answer[] = [];
  readonly #isInteractive = process.stdin.isTTY && process.stderr.isTTY;
  readonly #lines: Interface;
  #isOpen = true;
  #answering: AbortController | undefined;
  #mayLeave = false;

  constructor(
    terminal: Terminal,
    model: Model,
    conversation: Conversation,
    options: AnswerOptions,
    interrupted: AbortSignal,
  ) {
    this.#terminal = terminal;
    this.#model = model;
    this.#conversation = conversation;
    this.#options = options;
    this.#interrupted = interrupted;
    this.#lines = createInterface({
      input: process.stdin,
      ...(this.#isInteractive && { output: process.stderr, prompt: "> " }),
    });
    this.#lines.once("close", () => (this.#isOpen = false));
  }

  async hold(): Promise<void> {
    this.#interrupted.addEventListener("abort", () => {
      process.exitCode = 130;
      this.#lines.close();
    });
    this.#lines.on("SIGINT", () => this.#interrupt()); // a terminal that is read by keys hands Ctrl-C over as one of them
    try {
      if (this.#isInteractive) {
        this.#terminal.note(
          `${modelInALine(this.#model)}\nRoPE ${ropeInALine(this.#model.rope)}. /help lists what else can be done, Ctrl-D leaves.`,
        );
      }
      this.#prompt();
      for await (const line of this.#lines) {
        this.#mayLeave = false;
        if (line.trim() === "/exit") break;
        if (line.trim() !== "") await this.#take(line.trim());
        await setImmediate(); // short answers leave no time for Ctrl-C to be heard
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

  async #take(line: string): Promise<void> {
    try {
      if (line.startsWith("/")) this.#terminal.note(await runChatCommand(line, this.#conversation, this.#model));
      else await this.#answer(line);
    } catch (error) {
      if (!this.#isInteractive) throw error;
      this.#terminal.note((error as Error).message);
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

  #summary({ finish, prompt, generation, forgotten }: Answer): string {
    const { session } = this.#conversation;
    return [
      `${finish === "end" ? "" : `[${finish}] `}${generation.tokens} tokens (${speedInWords(generation)}) after ${(prompt.milliseconds / 1000).toFixed(2)} s`,
      `context ${session.length} of ${session.contextLength}`,
      `RoPE ${ropeInALine(session.rope)}${forgotten === 0 ? "" : `; ${forgotten} old messages forgotten`}`,
    ].join("; ");
  }

  #interrupt(): void {
    if (this.#answering !== undefined) this.#answering.abort();
    else if (this.#mayLeave) this.#lines.close();
    else {
      this.#mayLeave = true;
      this.#terminal.note("\nCtrl-C again leaves.");
      this.#prompt();
    }
  }

  #prompt(): void {
    if (this.#isInteractive && this.#isOpen) this.#lines.prompt();
  }
}
