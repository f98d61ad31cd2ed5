// How decoders of a tokenizer.json pass on what they make of tokens.

/**
 * Takes the texts of tokens in their order. After a decoder that joins all tokens to one (Fuse, ByteLevel), a sink takes the parts of that
 * one instead.
 */
export interface Sink {
  add(text: string): void;
  /** Nothing comes after this. */
  end(): void;
}

/** A sink that changes each text by itself. */
export function changing(change: (text: string) => string, next: Sink): Sink {
  return { add: (text) => next.add(change(text)), end: () => next.end() };
}

/** A sink that takes the parts of a text and passes it on as a whole. */
export function whole(next: Sink): Sink {
  let all = "";
  return {
    add: (part) => (all += part),
    end() {
      next.add(all);
      next.end();
    },
  };
}
