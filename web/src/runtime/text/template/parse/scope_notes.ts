// Which names a scope of a template sets before it reads them. Jinja gives such a name a variable of that scope, which is undefined until then, so
// that what is nested in the scope doesn't see the template's input (jinja2/idtracking.py).

/** What one scope does with names itself: not in the scopes that are nested in it. */
export class ScopeNotes {
  /** For each name whether the first thing that the scope does with it is to set it, in any case. */
  #names = new Map<string, boolean>();

  /**
   * @param parent - the scope around it, whose variables it sees
   * @param declared - names that have a value when it begins
   */
  constructor(
    private readonly parent: ScopeNotes | undefined,
    declared: readonly string[] = [],
  ) {
    for (const name of declared) this.note(name, false);
  }

  note(name: string, isSet: boolean): void {
    if (!this.#names.has(name)) this.#names.set(name, isSet);
  }

  /** Reads the branches of a condition one by one. What not all of them do, the scope may not do. */
  branches(read: (inBranch: (branch: () => void) => void) => void): void {
    const before = this.#names;
    const all: Map<string, boolean>[] = [];
    read((branch) => {
      this.#names = new Map(before);
      branch();
      all.push(this.#names);
      this.#names = before; // tests of conditions are read in any case
    });
    for (const name of new Set(all.flatMap((names) => [...names.keys()])))
      this.note(name, all.every((names) => names.has(name)) && all[all.length - 1]!.get(name) === true);
  }

  /** The names that are undefined at the beginning, once the whole template is read. */
  undefinedAtFirst(): string[] {
    return [...this.#names].filter(([name, isSet]) => isSet && this.parent?.has(name) !== true).map(([name]) => name);
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.parent?.has(name) === true;
  }
}
