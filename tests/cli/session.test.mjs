// `ropewalk generate --session`: what is kept, what is read again, and files of other models.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { ropewalk, withFolder } from "./program.mjs";

const llama = fileURLToPath(new URL("../golden/tiny_models/llama", import.meta.url));

test("--session keeps what was read, and a later prompt with the same beginning reads only the rest", () =>
  withFolder(async (folder) => {
    const file = join(folder, "notes.session");
    const withoutSession = async (prompt, ...words) => {
      const all = ["generate", llama, prompt, "-n", "4", "--temperature", "0", "--json"];
      return JSON.parse((await ropewalk([...all, ...words])).stdout);
    };
    const generate = (prompt, ...words) => withoutSession(prompt, "--session", file, ...words);
    const first = await generate("the dog runs");
    const again = await generate("the dog runs over there");
    const expected = await withoutSession("the dog runs over there");
    assert.ok(first.prompt.tokens > again.prompt.tokens);
    assert.deepEqual(again.tokens, expected.tokens);
    const whole = await generate("the dog runs over there");
    assert.deepEqual([whole.prompt.tokens, whole.tokens], [0, expected.tokens]);

    const retuned = await generate("the dog runs over there", "--theta", "500");
    assert.equal(retuned.rope.rope_theta, 500);

    // a text that was extended beyond the context length, which a later call has again
    const long = ["--context", "16", "--when-full", "extend", "--ignore-end", "-n", "40"];
    const extended = await generate("the dog runs", ...long);
    assert.equal(extended.context.length, 64);
    const short = await generate("the dog runs", "--context", "16", "-n", "4");
    assert.deepEqual([short.prompt.tokens, short.tokens], [0, extended.tokens.slice(0, 4)]);
    const second = await generate("the dog runs", ...long);
    assert.deepEqual([second.prompt.tokens, second.context.length], [0, 64]);
    await generate("the dog runs", ...long);

    for (const [words, message] of [
      [["--kv", "q8_0"], /notes\.session: the session has keys and values of type f16.*; start with --kv f16 \(/],
      [
        ["--quantize", "q8_0"],
        /notes\.session: the session was saved with another model, or with another quantization of it; load the model as it was when it was saved/,
      ],
    ])
      assert.match(
        (await ropewalk(["generate", llama, "the", "-n", "1", "--session", file, ...words])).stderr,
        message,
      );

    await writeFile(file, "not a session");
    const { status, stderr } = await ropewalk(["generate", llama, "the", "-n", "1", "--session", file]);
    assert.equal(status, 1);
    assert.match(stderr, /notes\.session: isn.t a saved session; name another file, or delete this one/);
    assert.equal(await readFile(file, "utf8"), "not a session");
  }));
