// Grammars in GBNF of any size.

const list = (n, make) => Array.from({ length: n }, (_, i) => make(i));
const join = (n, make, separator = "") => list(n, make).join(separator);
/** n rules, of which each may name others. */
const rules = (n, make) => `root ::= r0\n${join(n, (i) => `r${i} ::= ${make(i, (i + 1) % n)}`, "\n")}`;

export const GRAMMARS = {
  "a long text": (n) => `root ::= "${"a".repeat(n)}"`,
  "long escapes": (n) => `root ::= "${"\\n".repeat(n)}"`,
  texts: (n) => `root ::= ${'"a" '.repeat(n)}`,
  words: (n) => `root ::= ${join(n, (i) => `"word${i}"`, " | ")}`,
  "words on lines": (n) => `root ::= ${join(n, (i) => `"word${i}"`, " |\n  ")}`,
  "alternatives of nothing": (n) => `root ::= "a" ${"| ".repeat(n)}`,
  sets: (n) => `root ::= ${"[a-z] ".repeat(n)}`,
  "a large set": (n) => `root ::= [${join(n, (i) => String.fromCodePoint(0x4e00 + ((2 * i) % 20000)))}]`,
  "a large set of others": (n) => `root ::= [^${join(n, (i) => String.fromCodePoint(0x4e00 + ((2 * i) % 20000)))}]`,
  repeats: (n) => `root ::= ${'"a"* [b]? "c"+ '.repeat(n)}`,
  "repeats of a repeat": (n) => `root ::= "a"${"*".repeat(n)}`,
  counts: (n) => `root ::= ${'"ab"{2,3} '.repeat(n)}`,
  "one count": (n) => `root ::= "ab"{${n}}`,
  "an open count": (n) => `root ::= "a"{${"1".repeat(n)}`,
  "counts that don't end": (n) => `root ::= ${'"a"{1'.repeat(n)}`,
  groups: (n) => `root ::= ${'("a" | "b") '.repeat(n)}`,
  "groups inside each other": (n) => `root ::= ${"(".repeat(n)}"a"${")".repeat(n)}`,
  "parentheses that don't end": (n) => `root ::= ${"(".repeat(n)}`,
  rules: (n) => rules(n, () => '"a"'),
  "a chain of rules": (n) => rules(n, (i, next) => (next === 0 ? '"a"' : `"a" r${next}`)),
  "a chain of rules, backwards": (n) => rules(n, (i) => (i === 0 ? `"a" r${n - 1}` : i === 1 ? '"b"' : `"a" r${i - 1}`)), // prettier-ignore
  "a chain of first rules": (n) => rules(n, (i, next) => (next === 0 ? '"a"' : `r${next}`)),
  "a circle of rules": (n) => rules(n, (i, next) => `"a" r${next} | "b"`),
  "rules that begin with themselves": (n) => rules(n, (i, next) => `r${next} "a"`),
  "rules that all call one": (n) => `${rules(n, () => '"a" common')}\ncommon ::= [a-z]+`,
  "a rule that calls all": (n) => `root ::= ${join(n, (i) => `r${i}`, " | ")}\n${join(n, (i) => `r${i} ::= "a${i}"`, "\n")}`, // prettier-ignore
  "a rule that calls one often": (n) => `root ::= ${"r ".repeat(n)}\nr ::= "a"`,
  "rules that can be empty": (n) => rules(n, (i, next) => (next === 0 ? '"a"?' : `r${next} ""`)),
  "a rule of many empty rules": (n) => `root ::= ${join(n, (i) => `r${i}`, " ")} "a"\n${join(n, (i) => `r${i} ::= "a"?`, "\n")}`, // prettier-ignore
  "rules that are missing": (n) => `root ::= ${join(n, (i) => `r${i}`, " ")}`,
  "a rule that has no text": (n) => `root ::= "a" | r0\n${join(n, (i) => `r${i} ::= "a" r${(i + 1) % n}`, "\n")}`,
  "a long name": (n) => `${"r".repeat(n)} ::= "a"`,
  comments: (n) => `root ::= "a"\n${"# a comment\n".repeat(n)}`,
  "a long comment": (n) => `# ${"a".repeat(n)}\nroot ::= "a"`,
  spaces: (n) => `root ::=${" ".repeat(n)}"a"`,
  "spaces after each": (n) => `root ::= ${`"a"${" ".repeat(Math.ceil(Math.sqrt(n)))}`.repeat(Math.ceil(Math.sqrt(n)))}`, // prettier-ignore
  "empty lines": (n) => `root ::= "a"${"\n".repeat(n)}`,
  "spaces that end": (n) => `root ::= "a"${" \n".repeat(n)}|`,
};
