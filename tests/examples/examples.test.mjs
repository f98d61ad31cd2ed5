// Runs the examples as a user does.
import assert from "node:assert/strict";
import { mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { capture } from "../../scripts/run.mjs";
import { serveSite } from "../../scripts/site/serve.mjs";

const examples = join(import.meta.dirname, "..", "..", "examples");
const runExample = (name, ...args) => capture(process.execPath, [join(examples, name), ...args]);
const config = (name) => join(examples, "configs", `${name}.json`);

describe("rotate.mjs", () => {
  test("shows what a rotation preserves", async () => {
    const output = await runExample("rotate.mjs");
    assert.match(output, /^llama: 64 pairs in heads of 128, half pairing/);
    assert.match(output, /\|Rq\| \/ \|q\| = 1\.00000/);
    const scores = [...output.matchAll(/q · k = (\S+)/g)].map(([, score]) => score);
    assert.equal(scores.length, 4);
    assert.equal(new Set(scores).size, 1, `scores at other positions differ: ${scores}`);
    assert.match(output, /without copies: largest difference 0\./);
  });

  for (const name of ["qwen2.5-7b", "phi-3.5-mini", "deepseek-v3", "gpt-oss-20b"]) {
    test(`accepts the config of ${name}`, async () => {
      const output = await runExample("rotate.mjs", config(name));
      const [, kept, factor] = /\|q\| = (\S+), the attention factor (\S+)\./.exec(output);
      assert.equal(kept, factor);
    });
  }

  test("lists the layer types of a model that has several", async () => {
    await assert.rejects(
      runExample("rotate.mjs", config("gemma-3-1b")),
      /layer_type: .*full_attention, sliding_attention/,
    );
    assert.match(await runExample("rotate.mjs", config("gemma-3-1b"), "sliding_attention"), /^gemma3_text: 128 pairs/);
  });
});

describe("extend_context.mjs", () => {
  test("compares the ways to extend Qwen2.5 by a factor of 4", async () => {
    const output = await runExample("extend_context.mjs");
    assert.match(output, /trained on 32768 positions, extended by 4 to 131072/);
    assert.match(output, /cos and sin by 1\.138629, so logits by 1\.296477/); // the YaRN paper's 0.1 ln 4 + 1, and its square
    assert.match(output, /^ {2}yarn +4 +24 \/ +16 \/ +24 +1\.1386 /m);
    const [, difference] = /rotated from scratch: largest difference (\S+)/.exec(output);
    assert.ok(Number(difference) < 1e-6, difference); // one more rounding to f32, of values up to 1.14
    assert.ok(!output.includes("\u001b"), "no colors when piped");
  });

  test("accepts any config and factor", async () => {
    for (const name of ["llama-3.1-8b", "gemma-3-1b", "deepseek-v3"]) {
      assert.match(await runExample("extend_context.mjs", config(name), "8"), /extended by 8/);
    }
  });
});

describe("attention.mjs", () => {
  test("a cache gives the same outputs as attention over the whole sequence", async () => {
    const output = await runExample("attention.mjs");
    const differences = Object.fromEntries(
      [...output.matchAll(/cache of (\w+) +\(\d+ bytes\): largest difference (\S+)/g)].map(([, dtype, value]) => [
        dtype,
        Number(value),
      ]),
    );
    assert.equal(differences.f32, 0);
    assert.ok(differences.f16 > 0 && differences.f16 < 1e-3, differences.f16); // keys and values of about 1, rounded to 2^-11
    assert.ok(differences.q8_0 > differences.f16 && differences.q8_0 < 2e-2, differences.q8_0); // to 1/254
  });

  test("only position schemes depend on the order of tokens", async () => {
    const output = await runExample("attention.mjs");
    const moved = Object.fromEntries(
      [...output.matchAll(/^ {2}(none|rope|sinusoidal|alibi) +(\S+)$/gm)].map(([, scheme, value]) => [
        scheme,
        Number(value),
      ]),
    );
    assert.equal(Object.keys(moved).length, 4);
    assert.ok(moved.none < 1e-6, moved.none); // the same sum in another order
    for (const scheme of ["rope", "sinusoidal", "alibi"])
      assert.ok(moved[scheme] > 1e-3, `${scheme}: ${moved[scheme]}`);
  });
});

describe("retune.mjs", () => {
  test("retuned keys score like fresh ones, stale keys do not, and memory does not grow in a stream", async () => {
    const output = await runExample("retune.mjs");
    const rows = [...output.matchAll(/^ {2}(rotated|raw) +(\w+) +(\S+) +(\S+) +(\S+) +(\S+) +\S+ ms$/gm)].map(
      ([, keys, dtype, ...values]) => {
        const [staleScores, stale, scores, outputs] = values.map(Number);
        return { keys, dtype, staleScores, stale, scores, outputs };
      },
    );
    // scores of 64 elements of up to 1.14², divided by √64, reach about 10, and each key has the rounding error of its storage
    const most = { rotated: { f32: 1e-6, f16: 5e-3, q8_0: 5e-2 }, raw: { f32: 0, f16: 0 } };
    assert.equal(rows.length, 5);
    for (const { keys, dtype, staleScores, stale, scores, outputs } of rows) {
      const name = `${keys} ${dtype}`;
      assert.ok(staleScores > 1 && stale > 1e-2, `${name}: ${staleScores} ${stale}`);
      assert.ok(scores <= most[keys][dtype] && outputs <= most[keys][dtype], `${name}: ${scores} ${outputs}`);
    }
    assert.match(output, /memory grew by 0 bytes/);
    assert.match(output, /holds 928 tokens at positions 0 to 927$/m);
  });

  test("accepts another length", async () => {
    assert.match(
      await runExample("retune.mjs", "300"),
      /^300 tokens cached under plain RoPE, then extended by YaRN to 1200/,
    );
  });
});

test("onnxruntime.mjs: another engine rotates with our tables to the same bits", async () => {
  const lines = (await runExample("onnxruntime.mjs")).trim().split("\n");
  assert.equal(lines.length, 4);
  for (const line of lines) assert.match(line, /largest difference 0$/);
});

test("a script works through a symbolic link", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-example-"));
  try {
    const link = join(folder, "link.mjs");
    await symlink(join(examples, "make_tiny_model.mjs"), link);
    const file = join(folder, "tiny.gguf");
    assert.match(await capture(process.execPath, [link, file]), /bytes, \d+ tokens/);
    assert.ok((await stat(file)).size > 100_000);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a port that is in use is named, with the command for another", async () => {
  const other = createServer();
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  const { port } = other.address();
  const expected = `port ${port} of localhost is in use by another program; name another, as in npm run site -- --serve ${port + 1}`;
  try {
    await assert.rejects(serveSite(examples, port), { message: expected });
  } finally {
    other.close();
  }
});
