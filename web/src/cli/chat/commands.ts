import { type Model, RopewalkError } from "../../index.node.js";
import type { Conversation } from "./conversation.js";
import { loadChat, saveChat } from "./file.js";
import { modelInALine, reachOf } from "../loaded_model.js";
import { bytesInWords, ropeInALine } from "../model_text.js";
import { parseScaling } from "../rope_options.js";

interface ChatCommand {
  /** What follows the name; "" for nothing. */
  argument: string;
  summary: string;
  /** Says what it did. */
  run(conversation: Conversation, model: Model, argument: string): string | Promise<string>;
}

const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  "/help": { argument: "", summary: "this list", run: () => chatHelp() },
  "/info": { argument: "", summary: "the model, the RoPE in force, the context", run: info },
  "/reset": { argument: "", summary: "forget what was said", run: reset },
  "/retune": {
    argument: "<scaling>",
    summary: "another RoPE scaling (yarn:4, linear:4, none): what was read is turned, not read again",
    run: retune,
  },
  "/save": { argument: "<file>", summary: "write the chat and all that was read of it", run: save },
  "/load": { argument: "<file>", summary: "go on with a chat that was saved", run: restore },
};

/** The commands of a chat, one a line. */
export function chatHelp(): string {
  const lines = Object.entries(COMMANDS).map(
    ([name, { argument, summary }]) => `  ${`${name} ${argument}`.padEnd(18)} ${summary}`,
  );
  return [...lines, `  ${"/exit".padEnd(18)} leave (or Ctrl-D)`].join("\n");
}

/** Runs a line that begins with a slash, and says what it did. */
export async function runChatCommand(line: string, conversation: Conversation, model: Model): Promise<string> {
  const [name = "", ...words] = line.split(/\s+/);
  const argument = words.join(" ");
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name]! : undefined;
  if (command === undefined) throw new RopewalkError("INVALID_ARGUMENT", name, "is no command; /help lists them");
  if ((command.argument === "") !== (argument === "")) {
    throw new RopewalkError(
      "INVALID_ARGUMENT",
      name,
      command.argument === "" ? "takes nothing after it" : `needs ${command.argument} after it`,
    );
  }
  return command.run(conversation, model, argument);
}

function info({ session, messages }: Conversation, model: Model): string {
  const held = `${session.length} of ${session.contextLength} tokens, ${bytesInWords(session.bytes)} of keys and values`;
  return `${modelInALine(model)}\nRoPE ${ropeInALine(session.rope)}; trained length ${model.info.trainedLength}\nContext ${held}; ${messages.length} messages`;
}

function reset(conversation: Conversation): string {
  conversation.reset();
  return "Forgotten.";
}

function retune({ session }: Conversation, model: Model, argument: string): string {
  session.retune(parseScaling(argument).overrides);
  const contextLength = Math.max(session.contextLength, reachOf(session.rope, model.info.trainedLength));
  session.retune({}, { contextLength });
  return `RoPE ${ropeInALine(session.rope)}; context ${contextLength}`;
}

async function save({ session, messages }: Conversation, model: Model, path: string): Promise<string> {
  const bytes = await saveChat(path, { model: model.info.name, messages: [...messages], session: session.save() });
  return `${path}: ${bytesInWords(bytes)}`;
}

async function restore(conversation: Conversation, model: Model, path: string): Promise<string> {
  const saved = await loadChat(path);
  if (saved.model !== model.info.name)
    throw new RopewalkError("INVALID_ARGUMENT", path, `is a chat with ${saved.model}, and this is ${model.info.name}`);
  conversation.restore(saved.messages, saved.session);
  return `${path}: ${saved.messages.length} messages, ${conversation.session.length} tokens`;
}
