// Numbers states as they are found.
import { MAX_STATES, TooLarge } from "./limits.js";

/** Numbers of states that are found from the first one on. */
export class Found<Key> {
  readonly keys: Key[] = [];
  readonly #ids = new Map<string, number>();

  /** @throws TooLarge */
  idOf(key: Key, name: string): number {
    const known = this.#ids.get(name);
    if (known !== undefined) return known;
    if (this.keys.length >= MAX_STATES) throw new TooLarge();
    const id = this.keys.push(key) - 1;
    this.#ids.set(name, id);
    return id;
  }
}
