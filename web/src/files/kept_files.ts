// How downloads lie in a store: a file's pieces, and beside them what is known of it.
import { isJsonObject } from "./json_file.js";
import type { PieceStore } from "./piece_store.js";

/** Length of a piece in bytes: what is lost of a download that breaks off, and held in memory while a piece arrives. @internal */
export const PIECE = 16 << 20;

const ABOUT = "about";

/** What is kept of a file besides its pieces. @internal */
export interface About {
  /** The address of the model that it was last opened for. */
  readonly source: string;
  /** Its length in bytes; undefined for a file that the server does not have. */
  readonly size?: number | undefined;
  readonly version?: string | undefined;
}

/** What a store's names say of a file. @internal */
export interface KeptFile {
  readonly key: string;
  /** Which of its pieces are there. */
  readonly pieces: readonly number[];
}

/** The address of a file or a model without what servers never see. @internal */
export function withoutFragment(url: URL): string {
  const address = new URL(url);
  address.hash = "";
  return address.href;
}

/** A name for a file that any store takes, whatever the length of the address. @internal */
export async function keyOf(url: URL): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(withoutFragment(url)));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @internal */
export function pieceName(key: string, index: number): string {
  return `${key}-${index}`;
}

/** Bytes of a piece of a file of `size`. @internal */
export function pieceBytes(size: number, index: number): number {
  return Math.max(0, Math.min(PIECE, size - index * PIECE));
}

/** @internal */
export async function readAbout(store: PieceStore, key: string): Promise<About | undefined> {
  try {
    const blob = await store.read(`${key}-${ABOUT}`);
    const about: unknown = blob === undefined ? undefined : JSON.parse(await blob.text());
    return isAbout(about) ? about : undefined;
  } catch {
    return undefined; // damaged, or refused: as if nothing were kept
  }
}

/** @internal */
export async function writeAbout(store: PieceStore, key: string, about: About): Promise<void> {
  await store.write(`${key}-${ABOUT}`, new TextEncoder().encode(JSON.stringify(about)));
}

/** Every file of which something is kept. @internal */
export async function keptFiles(store: PieceStore): Promise<KeptFile[]> {
  const found = new Map<string, number[]>();
  for (const name of await store.names()) {
    const [, key, part] = /^([0-9a-f]{64})-(about|\d+)$/.exec(name) ?? [];
    if (key === undefined || part === undefined) continue;
    const pieces = found.get(key) ?? [];
    found.set(key, pieces);
    if (part !== ABOUT) pieces.push(Number(part));
  }
  return Array.from(found, ([key, pieces]) => ({ key, pieces }));
}

/** Removes the pieces of a file, and then what is known of it. @internal */
export async function removeFile(store: PieceStore, { key, pieces }: KeptFile): Promise<void> {
  for (const index of pieces) await store.remove(pieceName(key, index));
  await store.remove(`${key}-${ABOUT}`);
}

function isAbout(value: unknown): value is About {
  return (
    isJsonObject(value) &&
    typeof value["source"] === "string" &&
    (value["size"] === undefined || Number.isSafeInteger(value["size"]))
  );
}
