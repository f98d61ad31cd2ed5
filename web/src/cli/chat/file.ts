import { open, readFile, stat } from "node:fs/promises";
import { type ChatMessage, RopewalkError } from "../../index.node.js";
import { writeFileWhole } from "../output_file.js";

/** A chat as it is kept: a line of JSON that says what was said, and the bytes of the session behind it. */
export interface SavedChat {
  /** Name of the model. */
  model: string;
  messages: ChatMessage[];
  session: Uint8Array;
}

const FORMAT = "ropewalk chat 1";
const NEWLINE = 10;

/**
 * Writes a chat; one that was there before is replaced when all is written.
 * @throws {@link RopewalkError} INVALID_ARGUMENT where any other file has the name, and as writeFileWhole().
 */
export async function saveChat(path: string, { model, messages, session }: SavedChat): Promise<number> {
  await refuseOtherFiles(path);
  const head = new TextEncoder().encode(`${JSON.stringify({ format: FORMAT, model, messages })}\n`);
  await writeFileWhole(path, (file) => file.writeFile(Buffer.concat([head, session])), "/save");
  return head.length + session.length;
}

/** Reads what {@link saveChat} wrote. */
export async function loadChat(path: string): Promise<SavedChat> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new RopewalkError("INVALID_ARGUMENT", path, `cannot be read: ${(cause as Error).message}`, { cause });
  });
  const end = bytes.indexOf(NEWLINE);
  const { format, model, messages } = headOf(bytes.subarray(0, Math.max(end, 0)).toString());
  if (format !== FORMAT || typeof model !== "string" || !areMessages(messages)) {
    throw new RopewalkError("INVALID_BYTES", path, "is no chat that /save wrote");
  }
  return { model, messages, session: new Uint8Array(bytes.subarray(end + 1)) };
}

async function refuseOtherFiles(path: string): Promise<void> {
  const about = await stat(path).catch(() => undefined);
  if (about === undefined || about.isDirectory()) return; // writeFileWhole() refuses folders
  if (about.isFile() && (await isChat(path))) return;
  throw new RopewalkError(
    "INVALID_ARGUMENT",
    "/save",
    `${path} is no chat that /save wrote, and is not written over; name another file`,
  );
}

/** Goes by how a file begins, for it may be a model of many gigabytes. */
async function isChat(path: string): Promise<boolean> {
  const begin = Buffer.from(JSON.stringify({ format: FORMAT }).slice(0, -1));
  const file = await open(path).catch((cause: unknown) => {
    throw new RopewalkError("INVALID_ARGUMENT", "/save", `${path} cannot be read: ${(cause as Error).message}`, {
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
  const isMessage = (one: unknown): boolean => {
    const { role, content } = (one ?? {}) as Partial<ChatMessage>;
    return typeof role === "string" && typeof content === "string";
  };
  return Array.isArray(value) && value.every(isMessage);
}
