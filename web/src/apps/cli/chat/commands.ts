// The commands inside a chat, such as /retune and /save.
import * as advise from "../../../core/base/advice.js";
import { InvalidArgumentError } from "commander";
import { fail } from "../../../core/base/errors.js";
import { type Model } from "../../../index.node.js";
import type { ContinuedWith, Conversation } from "./conversation.js";
import { loadChat, saveChat } from "./saved_chat.js";
import { supportedLength } from "../../../runtime/model/session/supported_length.js";
import { renamed } from "../../../core/base/field_names.js";
import { modelSummary } from "../loaded_model.js";
import { formatBytes, ropeSummary } from "../format.js";
import { type NamedScaling, parseScaling } from "../rope_options.js";

interface ChatCommand {
  /** Placeholder of the argument; "" for a command without one. */
  argument: string;
  summary: string;
  /** Runs the command and returns a message about the result. */
  run(conversation: Conversation, model: Model, argument: string): string | Promise<string>;
}

const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  "/help": { argument: "", summary: "list the commands", run: () => chatHelp() },
  "/info": { argument: "", summary: "describe the model, the RoPE and the context", run: info },
  "/reset": { argument: "", summary: "remove all messages", run: reset },
  "/retune": {
    argument: "<scaling>",
    summary:
      "change the RoPE, and the context by the factor of the scaling (yarn:4, none): cached keys are re-rotated. A position map (rerope:128) needs --kv-keys raw",
    run: retune,
  },
  "/save": { argument: "<file>", summary: "save the chat, with its KV cache", run: saveTo },
  "/load": {
    argument: "<file>",
    summary: "continue a saved chat",
    run: (conversation, model, path) => loadFrom(conversation, model, path),
  },
};

/** The list of chat commands. */
export function chatHelp(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { argument, summary }]) => `  ${`${name} ${argument}`.padEnd(18)} ${summary}`,
  );
  return [...lines, `  ${"/exit".padEnd(18)} leave the chat (or Ctrl-D)`].join("\n");
}

/** Runs a line that begins with a slash. Returns a message about the result. */
export async function runChatCommand(line: string, conversation: Conversation, model: Model): Promise<string> {
  const [name = "", ...words] = line.split(/\s+/);
  const argument = words.join(" ");
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : undefined;
  if (command === undefined) fail("INVALID_ARGUMENT", name, "isn't a command", advise.other("type /help for a list"));
  if ((command.argument === "") !== (argument === "")) {
    fail(
      "INVALID_ARGUMENT",
      name,
      command.argument === "" ? "takes no argument" : `needs an argument, ${command.argument}`,
    );
  }
  return command.run(conversation, model, argument);
}

function info({ session, messages }: Conversation, model: Model): string {
  const context = `${session.length} of ${session.contextLength} tokens, ${model.info.memory.states > 0 ? "memory" : "KV cache"} ${formatBytes(session.bytes)}`;
  return `${modelSummary(model)}\nRoPE ${ropeSummary(session.rope)}; trained length ${model.info.trainedLength}\nContext ${context}; ${messages.length} messages`;
}

function reset(conversation: Conversation): string {
  conversation.reset();
  return "All messages removed.";
}

/** The context grows by the factor of the scaling, from what it was at the start of the chat. Under a map that supports every length it stays. */
function retune({ session, startLength }: Conversation, model: Model, argument: string): string {
  session.retune(scalingFrom(argument));
  const { trainedLength } = model.info;
  const factor = supportedLength(session.rope, trainedLength) / trainedLength;
  const contextLength = Math.max(
    session.length,
    factor === Infinity ? session.contextLength : Math.floor(factor * startLength),
  );
  session.retune({}, { contextLength });
  return `RoPE ${ropeSummary(session.rope)}; context ${contextLength}`;
}

function scalingFrom(argument: string): NamedScaling["overrides"] {
  try {
    const { overrides } = parseScaling(argument);
    // a scaling that is named alone is the whole RoPE
    return "rope_scaling" in overrides ? { position_map: null, ...overrides } : overrides;
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    fail("INVALID_ARGUMENT", `/retune ${argument}`, error.message, { cause: error });
  }
}

/** Saves a chat in a file. Returns a message about it. */
export async function saveTo({ session, messages }: Conversation, model: Model, path: string): Promise<string> {
  const bytes = await saveChat(path, {
    model: model.info.name,
    messages: [...messages],
    contextLength: session.contextLength,
    session: session.save(),
  });
  return `${path}: ${formatBytes(bytes)}`;
}

/** Continues the chat in a file. Returns a message about it. */
export async function loadFrom(
  conversation: Conversation,
  model: Model,
  path: string,
  goesOnWith: ContinuedWith = { rope: "saved", keepsLength: false },
): Promise<string> {
  const saved = await loadChat(path);
  if (saved.model !== model.info.name)
    fail("INVALID_ARGUMENT", path, `was saved with the model ${saved.model}, but this chat uses ${model.info.name}`);
  try {
    conversation.restore(saved, goesOnWith);
  } catch (error) {
    throw renamed(error, () => path);
  }
  return `${path}: ${saved.messages.length} messages, ${conversation.session.length} tokens`;
}
