// Long runs of combining marks, in the order that Unicode's normalization gives them. An engine inserts each mark by itself, which takes time
// in proportion to the square of the run: 20 minutes for a text of two million.

/** Characters of a run from which on it is sorted here. Texts of people have shorter ones: the Stream-Safe Text Format allows 30. */
const LONG_RUN = 64;
// halfwidth voicing marks become combining ones in the form NFKD
const LONG_RUNS = new RegExp(`[\\p{M}\\uFF9E\\uFF9F]{${LONG_RUN},}`, "gu");

/** One character of each combining class, by the characters that it stands for. Those that nothing goes past stand for themselves: "". */
const classes = new Map<string, string>();
const representatives: string[] = [];

/** A canonically equivalent text, in which long runs of marks are decomposed and in order, so that normalizing it takes linear time. */
export function withOrderedMarks(text: string, form: "NFD" | "NFKD"): string {
  return text.replace(LONG_RUNS, (run) => ordered(run, form));
}

function ordered(run: string, form: "NFD" | "NFKD"): string {
  let result = "";
  let sorted = new Map<string, string[]>();
  const flush = (): void => {
    const all = [...sorted].sort(([a], [b]) => (swaps(b, a) ? -1 : 1));
    result += all.map(([, marks]) => marks.join("")).join("");
    sorted = new Map();
  };
  const decomposed = new Map<string, readonly string[]>();
  for (const mark of run) {
    let parts = decomposed.get(mark);
    if (parts === undefined) decomposed.set(mark, (parts = Array.from(mark.normalize(form))));
    for (const part of parts) {
      const representative = classOf(part);
      if (representative === "") {
        flush();
        result += part;
        continue;
      }
      const marks = sorted.get(representative);
      if (marks === undefined) sorted.set(representative, [part]);
      else marks.push(part);
    }
  }
  flush();
  return result;
}

/** The character that stands for a mark's class; "" for class 0. */
function classOf(mark: string): string {
  const known = classes.get(mark);
  if (known !== undefined) return known;
  // U+0334 has the lowest class above 0, U+0345 the highest
  const isOrdered = swaps(mark, "\u0334") || swaps("\u0345", mark) || mark === "\u0334" || mark === "\u0345";
  let found = "";
  if (isOrdered) {
    found = representatives.find((other) => !swaps(mark, other) && !swaps(other, mark)) ?? mark;
    if (found === mark) representatives.push(mark);
  }
  classes.set(mark, found);
  return found;
}

/** Whether normalization moves the second of two marks before the first, because its class is lower. */
function swaps(first: string, second: string): boolean {
  return (first + second).normalize("NFD") !== first + second;
}
