// Splits a text into graphemes: what a reader takes for one character (Unicode Standard Annex 29).
import { fail } from "../../../core/base/errors.js";

/** The part of Intl.Segmenter that is used. Not every engine with wasm SIMD has it. */
interface Segmenter {
  segment(text: string): Iterable<{ segment: string }>;
}
type SegmenterClass = new (locale: string, options: { granularity: "grapheme" }) => Segmenter;

let segmenter: Segmenter | undefined;

/** UTF-16 code units that are segmented at once. */
const CHUNK = 1024;

/** Characters whose graphemes are known without the engine: those of ASCII, except for a line end of two. */

const SINGLE = /^(?:[\x00-\x0c\x0e-\x7f]|\r(?!\n))*$/;

/** The graphemes of a text, which concatenate to it. @throws UNSUPPORTED_ENGINE */
export function* graphemesOf(text: string): Generator<string> {
  if (SINGLE.test(text)) {
    yield* text;
    return;
  }
  const { Segmenter } = Intl as unknown as { Segmenter?: SegmenterClass };
  if (Segmenter === undefined) {
    fail(
      "UNSUPPORTED_ENGINE",
      "text",
      "this tokenizer needs Intl.Segmenter (Chrome 87, Firefox 125, Safari 14.1, Node 16)",
    );
  }
  segmenter ??= new Segmenter("und", { granularity: "grapheme" });
  // in chunks, as the time of V8's segmenter grows faster than a text; where one ends, its last grapheme may go on
  for (let at = 0, size = CHUNK; at < text.length;) {
    const end = text.codePointAt(at + size - 1)! > 0xffff ? at + size + 1 : at + size;
    const graphemes = Array.from(segmenter.segment(text.slice(at, end)), ({ segment }) => segment);
    if (end < text.length) graphemes.pop();
    for (const grapheme of graphemes) {
      at += grapheme.length;
      yield grapheme;
    }
    size = graphemes.length === 0 ? 2 * size : CHUNK;
  }
}
