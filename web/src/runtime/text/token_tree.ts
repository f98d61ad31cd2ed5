// Finds tokens in a text.

/** A step into the pieces of tokens: the token that ends here, and the next UTF-16 code units. */
interface Branch {
  id: number | undefined;
  /** Absent from the ends of tokens, which are most of a vocabulary. */
  next: Map<number, Branch> | undefined;
}

const newBranch = (): Branch => ({ id: undefined, next: undefined });

/** A tree of the tokens' code units, because a damaged file may have a million tokens that begin alike. */
export class TokenTree {
  readonly #root = newBranch();

  /** Adds a token. Of tokens with the same text, the first counts. */
  add(piece: string, id: number): void {
    let branch = this.#root;
    for (let i = 0; i < piece.length; i++) {
      const unit = piece.charCodeAt(i);
      branch.next ??= new Map();
      let next = branch.next.get(unit);
      if (next === undefined) branch.next.set(unit, (next = newBranch()));
      branch = next;
    }
    branch.id ??= id;
  }

  /** The longest token at a position of the text, with its end. */
  longestAt(text: string, at: number): { id: number; end: number } | undefined {
    let found: { id: number; end: number } | undefined;
    let branch = this.#root.next?.get(text.charCodeAt(at));
    for (let end = at + 1; branch !== undefined; end++) {
      if (branch.id !== undefined) found = { id: branch.id, end };
      branch = branch.next?.get(text.charCodeAt(end)); // NaN after the end
    }
    return found;
  }

  /** All tokens that are anywhere in the text. */
  idsIn(text: string): number[] {
    const ids = new Set<number>();
    for (let at = 0; at < text.length; at++) {
      if (this.#root.next?.has(text.charCodeAt(at))) for (const { id } of this.#allAt(text, at)) ids.add(id);
    }
    return [...ids];
  }

  *#allAt(text: string, at: number): Generator<{ id: number; end: number }> {
    let branch = this.#root.next?.get(text.charCodeAt(at));
    for (let end = at + 1; branch !== undefined; end++) {
      if (branch.id !== undefined) yield { id: branch.id, end };
      branch = branch.next?.get(text.charCodeAt(end)); // NaN after the end
    }
  }
}
