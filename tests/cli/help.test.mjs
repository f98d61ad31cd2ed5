// `ropewalk` itself: help, version, exit codes, and errors on stdout and stderr.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import test from "node:test";
import { promisify } from "node:util";
import { program, ropewalk } from "./program.mjs";

const COMMANDS = [
  "inspect",
  "doctor",
  "plot",
  "table",
  "generate",
  "chat",
  "embed",
  "rank",
  "decide",
  "serve",
  "perplexity",
  "search",
  "trace",
  "convert",
  "bench",
  "models",
];

test("help lists every command and every exit code, without colors when piped", async () => {
  const { status, stdout, stderr } = await ropewalk(["--help"]);
  assert.equal(status, 0);
  assert.equal(stderr, "");
  for (const command of COMMANDS) assert.match(stdout, new RegExp(`^  ${command}\\b`, "m"), command);
  for (const code of ["0", "1", "2", "130"]) assert.match(stdout, new RegExp(`^  ${code} +\\S`, "m"), code);
  assert.ok(!stdout.includes("\x1b"));
});

test("each command has help with examples and the global options", async () => {
  for (const command of [...COMMANDS, "convert pairing", "plot frequencies"]) {
    const { status, stdout } = await ropewalk([...command.split(" "), "--help"]);
    assert.equal(status, 0, command);
    assert.match(stdout, new RegExp(`^Usage: ropewalk ${command}`), command);
    assert.match(stdout, /--json/, command);
    if (command !== "convert" && command !== "plot frequencies")
      assert.match(stdout, /Examples:\n {2}ropewalk /, command);
  }
});

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  for (const flag of ["--version", "-V"])
    assert.deepEqual(await ropewalk([flag]), { status: 0, stdout: `${version}\n`, stderr: "" });
});

test("wrong usage ends with exit code 2 and a message", async () => {
  const cases = [
    [["inspct"], /unknown command 'inspct'.*Did you mean inspect/s],
    [["inspect"], /missing required argument 'source'/],
    [["inspect", "a.json", "--fctor", "4"], /unknown option '--fctor'.*Did you mean --factor/s],
    [["inspect", "a.json", "--factor", "much"], /--factor <n>.*Must be a number from 1 up/],
    [["inspect", "a.json", "--rope-type", "jarn"], /--rope-type.*Allowed choices are.*yarn/],
    [["inspect", "a.json", "--set", "rope_theta"], /--set.*Must be key=value/],
    [["inspect", "a.json", "--set", "__proto__.x=16"], /--set.*Must be key=value/],
    [["inspect", "a.json", "--theta", "1"], /--theta <n>.*Must be a number above 1/],
    [["perplexity", "m.gguf", "a.txt", "--scaling", "yarn"], /--scaling.*Needs a factor, for example yarn:4/],
    [["perplexity", "m.gguf", "a.txt", "--scaling", "yarn:x"], /--scaling.*The factor must be a number from 1 up/],
    [["perplexity", "m.gguf", "a.txt", "--scaling", "yarn:4:x"], /The trained length must be an integer from 1 up/],
    [["search", "m.gguf", "--lenght", "300"], /^error: unknown option '--lenght'.*Did you mean --length\?/s],
    [["table", "a.json", "--outptu", "a.npy"], /^error: unknown option '--outptu'.*Did you mean --output\?/s],
    [["table", "a.json"], /required option '-o, --output <file>' not specified/],
    [["plot"], /./],
  ];
  for (const [words, message] of cases) {
    const { status, stdout, stderr } = await ropewalk(words);
    assert.equal(status, 2, words.join(" "));
    assert.equal(stdout, "", words.join(" "));
    assert.match(stderr, message);
    assert.ok(!/\n +at /.test(stderr), "no stack");
  }
});

test("errors are JSON with --json, and have a stack trace with --verbose", async () => {
  const { status, stdout, stderr } = await ropewalk(["inspect", "nowhere.json", "--json"]);
  assert.equal(status, 1);
  assert.deepEqual(Object.keys(JSON.parse(stdout).error), ["code", "field", "message"]);
  assert.equal(JSON.parse(stdout).error.code, "INVALID_FILE");
  assert.equal(stderr, "");
  assert.equal(JSON.parse((await ropewalk(["inspect", "--json"])).stdout).error.code, "USAGE");
  for (const words of [["--json"], ["plot", "--json"]]) {
    const { status, stdout } = await ropewalk(words);
    assert.deepEqual([status, JSON.parse(stdout).error.message], [2, "a command is missing"]);
  }
  assert.match((await ropewalk(["inspect", "nowhere.json", "--verbose"])).stderr, /\n +at /);
});

test("output that can't be written gives a message", { skip: !existsSync("/dev/full") }, async () => {
  const run = (redirected) =>
    promisify(execFile)("sh", ["-c", `"${process.execPath}" "${program}" --help ${redirected}`]).then(
      () => ({ code: 0, stderr: "" }),
      ({ code, stderr }) => ({ code, stderr }),
    );
  const { code, stderr } = await run("> /dev/full");
  assert.equal(code, 1);
  assert.match(stderr, /^error: the output cannot be written: .*ENOSPC.*\n$/);
  assert.equal((await run("2> /dev/full")).code, 0);
});
