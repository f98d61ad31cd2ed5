// Runs the pages of docs/: their commands, whose output is compared, and their JavaScript, as one program per page.
//
//   node tests/examples/guide_page.mjs docs/gibberish.md …    updates the numbers in pages to what their commands print now
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { isMain } from "../../examples/is_main.mjs";

export const root = join(import.meta.dirname, "..", "..");
export const read = (name) => readFile(join(root, name), "utf8");

/** The code blocks with the info string `info`, in order. */
export function blocksOf(markdown, info) {
  return [...markdown.matchAll(/^```([^\n]*)\n(.*?)^```$/gms)]
    .filter(([, given]) => given === info)
    .map(([, , code]) => code);
}

/** The commands of the `console` blocks (lines after `$`, joined after a backslash) and the lines that each should print. */
export function commandsOf(markdown) {
  return blocksOf(markdown, "console").flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command, ...printed] = part
          .replace(/ \\\n */g, " ")
          .trimEnd()
          .split("\n");
        return { command, printed };
      }),
  );
}

/** Runs a command of a page in the repository, with this Node and this package. Output files go to `folder`. Rejects if the command fails. */
export async function runCommand(command, folder) {
  const program = command
    .replace(/^npx ropewalk\b/, "node dist/cli.node.js")
    .replace(/ -o (\S+)/, (_, name) => ` -o ${join(folder, name)}`);
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, NO_COLOR: "1" };
  // stdout and stderr in one stream, as a terminal shows them
  const { stdout } = await promisify(execFile)("sh", ["-c", `${program} 2>&1`], { cwd: root, env, maxBuffer: 2 ** 26 });
  return stdout === "" ? [] : stdout.replaceAll(join(folder, "/"), "").trimEnd().split("\n");
}

const NUMBER = /-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?/g;
// the same in text that is escaped for a regular expression
const ESCAPED_NUMBER = /-?\d[\d,]*(?:\\\.\d+)?(?:e(?:\\\+|-)?\d+)?/g;

/** The numbers of a line that matches the page's line except for numbers and, with `gap`, the width of gaps. `…` matches anything. */
function numbersOf(line, expected, gap = " ") {
  const escaped = expected
    .split("…")
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(ESCAPED_NUMBER, `(${NUMBER.source})`));
  return new RegExp(`^${escaped.join(".*").replace(/ +/g, (spaces) => (gap === " " ? spaces : gap))}$`)
    .exec(line.trimEnd())
    ?.slice(1);
}

/** Whether a line matches the page's line. A number may differ by one in its last digit, because builds differ in rounding. */
export function isAsShown(line, expected) {
  const found = numbersOf(line, expected);
  if (found === undefined) return false;
  return (expected.match(NUMBER) ?? []).every(
    (number, i) => Math.abs(valueOf(found[i]) - valueOf(number)) <= lastPlace(number) * 1.001,
  );
}

const valueOf = (number) => Number(number.replaceAll(",", ""));

/** One unit in the last digit written, or 0 for an integer. */
function lastPlace(number) {
  const [digits, exponent = "0"] = number.split("e");
  const decimals = digits.split(".")[1]?.length ?? 0;
  return decimals === 0 && exponent === "0" ? 0 : 10 ** (Number(exponent) - decimals);
}

/** Fails unless a command printed the lines that a page shows, in order. A line with only `…` matches any number of lines. */
export function assertPrinted(lines, shown) {
  let [at, isOpen] = [0, false];
  for (const expected of shown) {
    if (expected.trim() === "…") {
      isOpen = true;
      continue;
    }
    const found = isOpen ? lines.findIndex((line, i) => i >= at && isAsShown(line, expected)) : at;
    if (found < 0 || !isAsShown(lines[found] ?? "", expected))
      assert.fail(`not printed: ${expected}\n${lines.slice(at, at + 60).join("\n")}`);
    [at, isOpen] = [found + 1, false];
  }
  if (!isOpen) assert.deepEqual(lines.slice(at), [], "more lines than the page has");
}

/**
 * Runs the `js` blocks of a page as one program. A line `expression; // → text`, or `console.log(expression); // → text`, checks the
 * expression's string. Returns the number of checks.
 */
export async function runProgram(name) {
  const code = blocksOf(await read(name), "js").join("\n");
  const checked = code.replace(/^(.+); \/\/ → (.+)$/gm, (_, shown, expected) => {
    const expression = /^console\.log\((.+)\)$/.exec(shown)?.[1] ?? shown;
    return `check(() => ${expression}, ${JSON.stringify(expected)});`;
  });
  // in a folder of this package, so that "ropewalk" resolves to it; imports move to the top
  const folder = join(root, "build", "texts");
  const file = join(folder, `${name.replace(/\W/g, "_")}_${process.pid}.mjs`);
  const imports = [];
  const body = checked.replace(/^import .*$/gm, (line) => (imports.push(line), ""));
  await mkdir(folder, { recursive: true });
  await writeFile(file, [...imports, `export default async (check) => {\n${body}\n};`].join("\n"));
  let checks = 0;
  try {
    const { default: run } = await import(pathToFileURL(file).href);
    await run((expression, expected) => {
      checks += 1;
      assert.equal(String(expression()), expected, String(expression));
    });
  } finally {
    await rm(file);
  }
  assert.equal(checks, (checked.match(/^check\(/gm) ?? []).length);
  return checks;
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(markdown) {
  const headings = markdown.replace(/^```.*?^```$/gms, "").matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, "")
      .replaceAll(" ", "-"),
  );
}

/** The start of addresses of files in the repository. */
const REPOSITORY = /^https:\/\/github\.com\/ropewalk\/ropewalk\/(?:blob|tree)\/main\//;

/** The links of a page to files or headings that don't exist, also by their addresses in the repository. */
export async function brokenLinks(name) {
  const targets = [...(await read(name)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  const broken = [];
  for (const target of targets.filter((target) => REPOSITORY.test(target) || !/^https?:/.test(target))) {
    const [path, anchor] = target.replace(REPOSITORY, "/").split("#");
    const file = path === "" ? name : path.startsWith("/") ? path.slice(1) : join(dirname(name), path);
    if (!existsSync(join(root, file))) broken.push(target);
    else if (anchor !== undefined && !anchorsOf(await read(file)).includes(anchor)) broken.push(target);
  }
  return broken;
}

/** The page's lines `shown` with the numbers that the command printed in `lines`. */
function renewed(lines, shown) {
  let at = 0;
  return shown.map((old) => {
    if (old.trim() === "…") return old;
    const find = (isLike) => lines.findIndex((line, i) => i >= at && isLike(line));
    const same = find((line) => isAsShown(line, old)); // after `…`, an earlier line may differ only in its numbers
    const found = same < 0 ? find((line) => numbersOf(line, old, " +") !== undefined) : same;
    if (found < 0) throw new Error(`nothing printed is like: ${old}\n${lines.join("\n")}`);
    at = found + 1;
    const numbers = numbersOf(lines[found], old, " +");
    if (!old.includes("…")) return lines[found].trimEnd();
    // a column keeps its width
    return old.replace(new RegExp(` {2,}${NUMBER.source}|${NUMBER.source}`, "g"), (aligned) =>
      numbers.shift().padStart(aligned.length),
    );
  });
}

if (isMain(import.meta.url)) {
  const folder = join(root, "build", "texts");
  await mkdir(folder, { recursive: true });
  for (const name of process.argv.slice(2)) {
    let page = await read(name);
    for (const { command, printed } of commandsOf(page)) {
      try {
        const shown = renewed(await runCommand(command, folder), printed).join("\n");
        if (printed.length > 0) page = page.replace(printed.join("\n"), () => shown);
      } catch (error) {
        console.error(`${name}: ${command}\n${error.message}`);
        process.exitCode = 1;
      }
    }
    await writeFile(join(root, name), page);
  }
}
