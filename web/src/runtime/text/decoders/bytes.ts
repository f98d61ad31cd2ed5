// Decoders that make characters of bytes: ByteLevel and ByteFallback.
import { byteOfPiece, bytesOfByteLevel } from "../vocabulary.js";
import type { Sink } from "./sink.js";

/** Joins tokens in GPT-2's characters for bytes. Its sink takes the parts of one text. */
export function joinByteLevel(next: Sink): Sink {
  // keeps a byte order mark, as it is part of the text
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return {
    add(token) {
      const text = decoder.decode(bytesOfByteLevel(token), { stream: true });
      if (text !== "") next.add(text);
    },
    end() {
      const text = decoder.decode();
      if (text !== "") next.add(text);
      next.end();
    },
  };
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Makes characters of tokens such as <0x0A>. If those in a row aren't UTF-8, each is U+FFFD.
 *
 * @param early pass on whole characters before the row ends: only the bytes from the first invalid ones on are U+FFFD then
 */
export function joinBytes(early: boolean, next: Sink): Sink {
  let row: number[] = [];
  const flush = (): void => {
    if (row.length === 0) return;
    const text = decoded(row);
    if (text !== undefined) next.add(text);
    else for (let i = 0; i < row.length; i++) next.add("\uFFFD");
    row = [];
  };
  return {
    add(token) {
      const byte = byteOfPiece(token);
      if (byte !== undefined) {
        row.push(byte);
        if (!early) return;
        const text = decoded(row);
        if (text === undefined) return;
        row = [];
        next.add(text);
        return;
      }
      flush();
      next.add(token);
    },
    end() {
      flush();
      next.end();
    },
  };
}

function decoded(bytes: readonly number[]): string | undefined {
  try {
    return strict.decode(Uint8Array.from(bytes));
  } catch {
    return undefined;
  }
}
