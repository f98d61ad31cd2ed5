// `ropewalk convert pairing`: converted weights give the same scores with the other pairing, and converting back gives
// the same bits.
import assert from "node:assert/strict";
import { copyFile, cp, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { load } from "ropewalk";
import { safetensorsBytes } from "../files/safetensors_writer.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const models = fileURLToPath(new URL("../golden/tiny_models/", import.meta.url));
const to = (from, other, input, output, ...words) =>
  ropewalk(["convert", "pairing", input, "--from", from, "--to", other, "-o", output, ...words]);
const tokens = Int32Array.from({ length: 40 }, (_, i) => (i * 7) % 60);

async function lossesOf(folder, pairing) {
  const model = await (await load()).model(folder, { rope: { pairing }, kv: { dtype: "f32" } });
  try {
    return (await model.perplexity(tokens)).losses.slice(1);
  } finally {
    model.dispose();
  }
}

/** Converts a safetensors file from f32 to bf16, by truncation. */
function asBf16(bytes) {
  const begin = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, begin).toString());
  for (const [name, entry] of Object.entries(header)) {
    if (name !== "__metadata__")
      Object.assign(entry, { dtype: "BF16", data_offsets: entry.data_offsets.map((offset) => offset / 2) });
  }
  const json = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(json.length));
  const data = bytes.subarray(begin).filter((_, i) => i % 4 >= 2);
  return Buffer.concat([length, json, data]);
}

// qwen2 has biases, qwen3 has norms per head, olmo2 has norms of all heads, phi rotates a part of each head, gptj names
// its heads differently
for (const { name, isBf16 = false, own = "half", other = "interleaved" } of [
  ...[
    { name: "llama" },
    { name: "llama", isBf16: true },
    { name: "qwen2" },
    { name: "qwen3" },
    { name: "olmo2" },
    { name: "phi" },
  ],
  { name: "gptj", own: "interleaved", other: "half" },
]) {
  test(`${name}${isBf16 ? " in bf16" : ""}: scores stay the same, and converting back restores the file`, () =>
    withFolder(async (folder) => {
      await cp(join(models, name), folder, { recursive: true });
      if (isBf16)
        await writeFile(join(folder, "model.safetensors"), asBf16(await readFile(join(folder, "model.safetensors"))));
      const original = await readFile(join(folder, "model.safetensors"));
      const before = await lossesOf(folder, own);
      const [there, back] = [join(folder, "there.safetensors"), join(folder, "back.safetensors")];
      const first = await to(own, other, join(folder, "model.safetensors"), there);
      assert.deepEqual([first.status, first.stderr], [0, ""]);
      assert.match(first.stdout, new RegExp(`^\\S+: \\d+ tensors from ${own} to ${other}`));
      const second = await to(other, own, there, back);
      assert.equal(second.status, 0, second.stderr);
      assert.deepEqual(await readFile(back), original);
      assert.notDeepEqual(await readFile(there), original);

      await copyFile(there, join(folder, "model.safetensors"));
      const after = await lossesOf(folder, other);
      // a score is summed in another order
      after.forEach((loss, i) =>
        assert.ok(Math.abs(loss - before[i]) <= 1e-4 * Math.abs(before[i]), `${i}: ${loss} and ${before[i]}`),
      );
      const wrong = await lossesOf(folder, own);
      assert.ok(
        wrong.some((loss, i) => Math.abs(loss - before[i]) > 1e-3 * Math.abs(before[i])),
        "the pairing matters to this model",
      );
    }));
}

test("heads can be given without a config.json, and tensors can be chosen", () =>
  withFolder(async (folder) => {
    const input = join(folder, "weights.safetensors");
    const config = JSON.parse(await readFile(join(models, "llama", "config.json"), "utf8"));
    await copyFile(join(models, "llama", "model.safetensors"), input);
    const unnamed = await to("half", "interleaved", input, join(folder, "a.safetensors"));
    assert.deepEqual([unnamed.status, /--heads: is required/.test(unnamed.stderr)], [2, true]);
    const heads = ["--heads", String(config.num_attention_heads), "--kv-heads", String(config.num_key_value_heads)];
    const named = await to("half", "interleaved", input, join(folder, "a.safetensors"), ...heads, "--json");
    assert.equal(named.status, 0, named.stderr);
    assert.equal(JSON.parse(named.stdout).converted.length, 4);
    const beside = await to(
      "half",
      "interleaved",
      join(models, "llama", "model.safetensors"),
      join(folder, "b.safetensors"),
    );
    assert.equal(beside.status, 0, beside.stderr);
    assert.deepEqual(await readFile(join(folder, "a.safetensors")), await readFile(join(folder, "b.safetensors")));
    const chosen = await to(
      "half",
      "interleaved",
      input,
      join(folder, "c.safetensors"),
      ...heads,
      "--tensors",
      "layers\\.1\\..*q_proj",
      "--json",
    );
    assert.deepEqual(JSON.parse(chosen.stdout).converted, ["model.layers.1.self_attn.q_proj.weight"]);
  }));

test("a --from that contradicts config.json gives a warning", () =>
  withFolder(async (folder) => {
    const [input, output] = [join(models, "llama", "model.safetensors"), join(folder, "OUT.SAFETENSORS")];
    const warning = /by its config\.json, this model has half pairing; --from interleaved is correct only if/;
    const { status, stdout, stderr } = await to("interleaved", "half", input, output);
    assert.deepEqual([status, stdout.split("\n").length], [0, 2]);
    assert.match(stderr, new RegExp(`^warning: ${warning.source}`));
    const { warnings } = JSON.parse((await to("interleaved", "half", input, output, "--json")).stdout);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], warning);
    // an unknown family may have any pairing
    const unknown = join(folder, "model.safetensors");
    await copyFile(input, unknown);
    await writeFile(
      join(folder, "config.json"),
      JSON.stringify({
        ...JSON.parse(await readFile(join(models, "llama", "config.json"), "utf8")),
        model_type: "ours",
      }),
    );
    assert.deepEqual(JSON.parse((await to("interleaved", "half", unknown, output, "--json")).stdout).warnings, []);
  }));

test("heads that a config omits are the defaults of its class", () =>
  withFolder(async (folder) => {
    const text = { model_type: "llama", hidden_size: 128 };
    const [input, output] = [join(folder, "model.safetensors"), join(folder, "out.safetensors")];
    const data = new Uint8Array(Float32Array.from({ length: 128 }, (_, i) => i).buffer);
    await writeFile(join(folder, "config.json"), JSON.stringify({ model_type: "llava", text_config: text }));
    await writeFile(input, safetensorsBytes({ "layers.0.q_proj.bias": { dtype: "F32", shape: [128], data } }));
    const { status, stderr } = await to("half", "interleaved", input, output);
    assert.equal(status, 0, stderr);
    const written = (await readFile(output)).subarray(-data.length);
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((i) => written.readFloatLE(4 * i)),
      [0, 2, 1, 3, 4],
    ); // 32 heads of 4
  }));

// qwen3 has norms of one head, olmo2 of all heads; the rows don't show which
for (const name of ["qwen3", "olmo2"]) {
  test(`norms of ${name} are converted the same without a config.json, from the shape of its projections`, () =>
    withFolder(async (folder) => {
      const config = JSON.parse(await readFile(join(models, name, "config.json"), "utf8"));
      const [input, a, b] = ["alone", "a", "b"].map((file) => join(folder, `${file}.safetensors`));
      await copyFile(join(models, name, "model.safetensors"), input);
      const heads = ["--heads", String(config.num_attention_heads), "--kv-heads", String(config.num_key_value_heads)];
      const [alone, beside] = [
        await to("half", "interleaved", input, a, ...heads),
        await to("half", "interleaved", join(models, name, "model.safetensors"), b),
      ];
      assert.deepEqual([alone.status, beside.status], [0, 0], alone.stderr + beside.stderr);
      assert.deepEqual(await readFile(a), await readFile(b));
    }));
}

test("a norm without any information about heads is an error", () =>
  withFolder(async (folder) => {
    const [input, output] = [join(folder, "norm.safetensors"), join(folder, "out.safetensors")];
    const data = new Uint8Array(Float32Array.from({ length: 8 }, (_, i) => i).buffer);
    await writeFile(input, safetensorsBytes({ "layers.0.q_norm.weight": { dtype: "F32", shape: [8], data } }));
    const unknown = await to("half", "interleaved", input, output, "--heads", "2");
    assert.deepEqual([unknown.status, /--head-dim: is required/.test(unknown.stderr)], [2, true], unknown.stderr);
    for (const [headDim, expected] of [
      ["4", [0, 2, 1, 3, 4, 6, 5, 7]],
      ["8", [0, 4, 1, 5, 2, 6, 3, 7]],
    ]) {
      const { status, stderr } = await to("half", "interleaved", input, output, "--heads", "2", "--head-dim", headDim);
      assert.equal(status, 0, stderr);
      const written = (await readFile(output)).subarray(-data.length);
      assert.deepEqual(
        expected.map((_, i) => written.readFloatLE(4 * i)),
        expected,
      );
    }
  }));

test("invalid arguments and files are errors, and no file is left", () =>
  withFolder(async (folder) => {
    const input = join(folder, "model.safetensors");
    await copyFile(join(models, "llama", "model.safetensors"), input);
    const whole = await readFile(input);
    const short = join(folder, "short.safetensors");
    await writeFile(short, whole.subarray(0, whole.length - 40));
    const text = join(folder, "text.safetensors");
    await writeFile(text, "this is not a model");
    const output = join(folder, "out.safetensors");
    const heads = ["--heads", "4", "--kv-heads", "2"];
    const cases = [
      [
        [input, "--from", "half", "--to", "interleaved", "-o", join(folder, "config.json")],
        2,
        /--output: must end in \.safetensors \(got .*config\.json\)/,
      ],
      [[folder, "--from", "half", "--to", "interleaved", "-o", output], 2, /is a folder; name a \.safetensors file/],
      [
        ["https://example.org/model.safetensors", "--from", "half", "--to", "interleaved", "-o", output],
        2,
        /is a URL.*download the \.safetensors file/,
      ],
      [
        ["model.GGUF", "--from", "half", "--to", "interleaved", "-o", output],
        2,
        /is a GGUF file, which can't be converted; use the \.safetensors file/,
      ],
      [[input, "--from", "half", "--to", "half", ...heads, "-o", output], 2, /--to: must differ from --from/],
      [[input, "--from", "half", "--to", "interleaved", ...heads, "-o", input], 2, /--output: is an input file/],
      [
        [input, "--from", "half", "--to", "sideways", ...heads, "-o", output],
        2,
        /Allowed choices are half, interleaved/,
      ],
      [
        [input, "--from", "half", "--to", "interleaved", "--heads", "5", "-o", output],
        2,
        /-heads: model\.layers\.0.*must have a multiple of 5 rows/,
      ],
      [
        [input, "--from", "half", "--to", "interleaved", ...heads, "--tensors", "nothing", "-o", output],
        2,
        /--tensors: matches none of the \d+ tensors/,
      ],
      [
        [input, "--from", "half", "--to", "interleaved", ...heads, "--tensors", "(", "-o", output],
        2,
        /--tensors: isn't a valid regular expression/,
      ],
      [[input, "--from", "half", "--to", "interleaved", ...heads, "--rotary-dim", "64", "-o", output], 1, /rotary_dim/],
      [[short, "--from", "half", "--to", "interleaved", ...heads, "-o", output], 1, /truncated/],
      [[text, "--from", "half", "--to", "interleaved", ...heads, "-o", output], 1, /the file is not safetensors/],
      [[join(folder, "nowhere"), "--from", "half", "--to", "interleaved", ...heads, "-o", output], 1, /no such file/],
      [
        [join(models, "gpt_neox", "model.safetensors"), "--from", "half", "--to", "interleaved", "-o", output],
        2,
        /query_key_value.*combines q, k and v in one tensor/,
      ],
    ];
    for (const [words, expected, message] of cases) {
      const { status, stdout, stderr } = await ropewalk(["convert", "pairing", ...words]);
      assert.deepEqual([status, stdout], [expected, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
    assert.deepEqual((await readdir(folder)).sort(), ["model.safetensors", "short.safetensors", "text.safetensors"]);
    assert.deepEqual(await readFile(input), whole);
  }));

test("the config.json with the heads isn't overwritten either", () =>
  withFolder(async (folder) => {
    await cp(join(models, "llama"), folder, { recursive: true });
    const linked = join(folder, "linked.safetensors");
    await symlink("config.json", linked);
    const { status, stderr } = await to("half", "interleaved", join(folder, "model.safetensors"), linked);
    assert.match(stderr, /^error: --output: is an input file of this command/);
    assert.equal(status, 2);
    assert.deepEqual(await readFile(linked), await readFile(join(models, "llama", "config.json")));
  }));
