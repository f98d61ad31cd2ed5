// Values for the modules whose names match a pattern, as in rank_pattern and alpha_pattern of PEFT.
import * as advise from "../../../core/base/advice.js";
import { show } from "../../../core/base/show.js";
import { invalidFile } from "../../files/errors.js";
import { compile, type Steps, TooManySteps } from "../../text/pattern/matcher.js";
import { UnknownSyntax } from "../../text/pattern/parse.js";
import { unsupported } from "./low_rank.js";

/** The longest regular expression. */
const MAX_LETTERS = 200;

/** Steps of matching for all modules, about a second: files from others mustn't make it take forever. */
const STEPS = 16_000_000;

/** A name without syntax but dots, which stand for any character. */
const NAME = /^\^?(?:[\w\-.]|\\[.\-])+\$?$/;

/** Where the patterns are from. */
interface Place {
  readonly file: string;
  readonly key: string;
}

type Match = (module: string) => boolean;

/** @internal */
export class ModulePatterns {
  readonly #entries: readonly (readonly [Match, number])[];
  readonly #place: Place;
  readonly #steps: Steps = { left: STEPS, longest: 0 };

  /** Throws INVALID_FILE, UNSUPPORTED_MODEL. */
  constructor(entries: readonly (readonly [string, number])[], place: Place) {
    this.#place = place;
    this.#entries = entries.map(([pattern, value]) => [this.#matcher(pattern), value]);
  }

  /** The value of the first pattern that a module's name ends in, as get_pattern_key() in PEFT. Throws UNSUPPORTED_MODEL. */
  valueFor(module: string): number | undefined {
    try {
      return this.#entries.find(([matches]) => matches(module))?.[1];
    } catch (error) {
      if (error instanceof TooManySteps) this.#refuse("takes too long to match");
      throw error;
    }
  }

  #matcher(pattern: string): Match {
    if (NAME.test(pattern)) return this.#nameMatcher(pattern);
    try {
      new RegExp(pattern);
    } catch (cause) {
      return invalidFile(this.#place.file, this.#place.key, `${show(pattern)} isn't a regular expression`, { cause });
    }
    if (pattern.length > MAX_LETTERS) return this.#refuse(`has a pattern of more than ${MAX_LETTERS} characters`);
    // Python escapes hyphens, which JavaScript allows only in sets
    const source = pattern.replace(/\\(.)/g, (escape, letter) => (letter === "-" ? "\\x2d" : escape));
    try {
      const find = compile(`^(?:.*\\.)?(?:${source})$`, this.#steps);
      return (module) => find(module, 0) !== undefined;
    } catch (error) {
      if (!(error instanceof UnknownSyntax)) throw error;
      return this.#refuse(`has the pattern ${show(pattern)}, whose syntax isn't supported`);
    }
  }

  /** Many adapters name hundreds of modules, each of which is compared with all names. */
  #nameMatcher(pattern: string): Match {
    const isWhole = pattern.startsWith("^");
    const letters = (pattern.replace(/^\^|\$$/g, "").match(/\\?./g) ?? []).map((letter) =>
      letter === "." ? undefined : letter.at(-1)!,
    );
    return (module) => {
      const first = module.length - letters.length;
      const begins = first === 0 || (first > 0 && !isWhole && module[first - 1] === ".");
      this.#steps.left -= begins ? letters.length : 1;
      if (this.#steps.left < 0) throw new TooManySteps("there are too many patterns");
      return begins && letters.every((letter, i) => letter === undefined || letter === module[first + i]);
    };
  }

  #refuse(what: string): never {
    return unsupported(this.#place.file, this.#place.key, what, advise.other("write the names of the modules"));
  }
}
