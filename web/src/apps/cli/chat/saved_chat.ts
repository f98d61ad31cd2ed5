// Saves and loads chats: a line of JSON with the messages, then the bytes of the session.
import * as advise from "../../../core/base/advice.js";
import { fail } from "../../../core/base/errors.js";
import { open, readFile, stat } from "node:fs/promises";
import { type ChatMessage } from "../../../index.node.js";
import { writeFileAtomically } from "../output_file.js";
import { readFailure } from "../input_file.js";

/** The contents of a saved chat. */
export interface SavedChat {
  /** Name of the model. */
  model: string;
  messages: ChatMessage[];
  /** Context length of the session, which `/retune` and `--when-full extend` change. */
  contextLength: number;
  session: Uint8Array;
}

const FORMAT = "ropewalk chat 1";
const NEWLINE = 10;

/**
 * Writes a chat. An existing saved chat is replaced once the new file is complete.
 * @returns the size of the file in bytes
 * @throws {@link RopewalkError} INVALID_ARGUMENT (the path is a file that isn't a saved chat), and as
 * writeFileAtomically().
 */
export async function saveChat(path: string, { model, messages, contextLength, session }: SavedChat): Promise<number> {
  await refuseOtherFiles(path);
  const head = new TextEncoder().encode(`${JSON.stringify({ format: FORMAT, model, messages, contextLength })}\n`);
  await writeFileAtomically(path, (file) => file.writeFile(Buffer.concat([head, session])), "/save");
  return head.length + session.length;
}

/** Reads a file that {@link saveChat} wrote. */
export async function loadChat(path: string): Promise<SavedChat> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    fail("INVALID_ARGUMENT", path, readFailure(cause), { cause });
  });
  const end = bytes.indexOf(NEWLINE);
  const { format, model, messages, contextLength } = headOf(bytes.subarray(0, Math.max(end, 0)).toString());
  if (format !== FORMAT || typeof model !== "string" || !areMessages(messages) || !Number.isInteger(contextLength)) {
    fail("INVALID_BYTES", path, "isn't a chat saved with /save");
  }
  return { model, messages, contextLength: contextLength as number, session: new Uint8Array(bytes.subarray(end + 1)) };
}

async function refuseOtherFiles(path: string): Promise<void> {
  const existing = await stat(path).catch(() => undefined);
  if (existing === undefined || existing.isDirectory()) return; // writeFileAtomically() rejects folders
  if (existing.isFile() && (await isChat(path))) return;
  fail(
    "INVALID_ARGUMENT",
    "/save",
    `${path} exists and isn't a chat saved with /save`,
    advise.other("name another file"),
  );
}

/** Reads only the beginning of the file, which may be a model of many gigabytes. */
async function isChat(path: string): Promise<boolean> {
  const begin = Buffer.from(JSON.stringify({ format: FORMAT }).slice(0, -1));
  const file = await open(path).catch((cause: unknown) => {
    fail("INVALID_ARGUMENT", "/save", `${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  });
  try {
    const { buffer } = await file.read(Buffer.alloc(begin.length), 0, begin.length, 0);
    return buffer.equals(begin);
  } finally {
    await file.close();
  }
}

function headOf(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function areMessages(value: unknown): value is ChatMessage[] {
  const isMessage = (message: unknown): boolean => {
    const { role, content } = (message ?? {}) as Partial<ChatMessage>;
    return typeof role === "string" && typeof content === "string";
  };
  return Array.isArray(value) && value.every(isMessage);
}
