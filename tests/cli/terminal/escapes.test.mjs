// Strings of a file with escape sequences: whatever command prints them, they don't reach the terminal.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { tinyModel } from "../../../examples/make_tiny_model.mjs";
import { ggufBytes } from "../../files/gguf_writer.mjs";
import { safetensorsBytes } from "../../files/safetensors_writer.mjs";
import { ropewalk, withFolder } from "../program.mjs";

/** Clears the screen, sets the title, C1's CSI, and moves to the start of the line. */
const EVIL = "\x1b[2J\x1b]0;title\x07\x9b31m\x85\r";
// eslint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;

/** The tiny model with escape sequences in its name, tokens and template. Its sampled words are its last tokens. */
function evilModel({ template, metadata = {}, tensors = [] } = {}) {
  const { metadata: plain, tensors: all } = tinyModel();
  const tokens = plain["tokenizer.ggml.tokens"].map((token, id) => (id < 3 + 256 ? token : `${token}${EVIL}\t\n`));
  return ggufBytes({
    metadata: {
      ...plain,
      "general.name": `${EVIL}name`,
      [`general.${EVIL}`]: EVIL,
      "tokenizer.ggml.tokens": tokens,
      "tokenizer.ggml.merges": [],
      ...(template !== undefined && { "tokenizer.chat_template": template }),
      ...metadata,
    },
    tensors: [...all, ...tensors],
  });
}

async function expectClean(words, options) {
  const { status, stdout, stderr } = await ropewalk(words, { env: { NO_COLOR: "1" }, ...options });
  for (const [name, text] of Object.entries({ stdout, stderr })) {
    const [found] = CONTROLS.exec(text) ?? [];
    assert.equal(
      found,
      undefined,
      `${words.join(" ")}: ${name} has ${JSON.stringify(found)}: ${JSON.stringify(text.slice(0, 500))}`,
    );
  }
  return { status, stdout, stderr };
}

test("a GGUF file with escape sequences in its strings: every command", async () => {
  await withFolder(async (folder) => {
    const model = join(folder, "m.gguf");
    const text = join(folder, "text.txt");
    const weights = join(folder, "w.safetensors");
    await writeFile(model, evilModel());
    await writeFile(text, "a rope and a sail ".repeat(30));
    await writeFile(
      weights,
      safetensorsBytes({
        [`${EVIL}.self_attn.q_proj.weight`]: { dtype: "F32", shape: [64, 2], data: new Uint8Array(512) },
        [EVIL]: { dtype: "F32", shape: [1], data: new Uint8Array(4) },
      }),
    );
    for (const words of [
      ["inspect", model],
      ["generate", model, "a", "-n", "8", "--seed", "1"],
      ["generate", model, "a", "-n", "8", "--seed", "1", "--chat"],
      ["perplexity", model, text, "--window", "16", "--tokens", "64"],
      [
        "convert",
        "pairing",
        weights,
        "-o",
        join(folder, "out.safetensors"),
        "--from",
        "half",
        "--to",
        "interleaved",
        "--heads",
        "4",
      ],
      ["table", model, "-o", join(folder, "table.npy"), "--length", "4"],
      ["plot", "decay", model, "--title", EVIL],
      ["bench", model, "--rounds", "1"],
    ]) {
      for (const more of [[], ["--json"], ["--verbose"]]) {
        const { status, stdout, stderr } = await expectClean([...words, ...more]);
        assert.equal(status, 0, `${words[0]}: ${stdout}${stderr}`);
      }
    }
    for (const more of [[], ["--json"]]) {
      const { status, stdout } = await expectClean(["chat", model, "-n", "8", "--seed", "1", ...more], {
        input: "a\n/info\n",
      });
      assert.equal(status, 0);
      assert.ok(stdout.includes("\\u001b[2J"), stdout);
    }
    const { stdout } = await expectClean(["generate", model, "a", "-n", "8", "--seed", "1"]);
    assert.match(stdout, /\\u001b\[2J.*\\u009b31m.*\t\n/s);
    const { stdout: json } = await expectClean(["generate", model, "a", "-n", "8", "--seed", "1", "--json"]);
    assert.ok(JSON.parse(json).text.includes(EVIL), "JSON has the text itself");
  });
});

test("errors about strings of a file", async () => {
  await withFolder(async (folder) => {
    const cases = {
      "template.gguf": evilModel({ template: `{{ raise_exception('${EVIL.replaceAll("\r", "")}') }}` }),
      "syntax.gguf": evilModel({ template: `{{ ${EVIL} }}` }),
      "architecture.gguf": evilModel({ metadata: { "general.architecture": `llama${EVIL}` } }),
      "pre.gguf": evilModel({ metadata: { "tokenizer.ggml.pre": EVIL } }),
      "tensor.gguf": evilModel({
        tensors: [{ name: `blk.0.${EVIL}`, type: "f32", shape: [1], data: new Uint8Array(4) }],
      }),
      "scaling.gguf": evilModel({ metadata: { "llama.rope.scaling.type": EVIL } }),
      [`${EVIL.replaceAll("\r", "")}.gguf`]: new Uint8Array(10),
    };
    for (const [name, bytes] of Object.entries(cases)) {
      const path = join(folder, name);
      await writeFile(path, bytes);
      for (const more of [[], ["--json"], ["--verbose"]]) {
        const { status, stdout } = await expectClean(["generate", path, "a", "-n", "2", "--chat", ...more]);
        assert.notEqual(status, 0, `${name}: ${stdout}`);
        await expectClean(["inspect", path, ...more]);
      }
    }
  });
});

test("a config.json and safetensors with escape sequences", async () => {
  await withFolder(async (folder) => {
    const config = {
      model_type: `llama${EVIL}`,
      hidden_size: 64,
      num_attention_heads: 4,
      [EVIL]: EVIL,
      rope_scaling: { rope_type: EVIL, factor: 2 },
      layer_types: [EVIL, `${EVIL}2`],
    };
    const directory = join(folder, "model");
    await mkdir(directory);
    for (const changed of [
      config,
      { ...config, rope_scaling: null },
      { ...config, model_type: "llama", rope_scaling: { [EVIL]: 1 } },
    ]) {
      await writeFile(join(directory, "config.json"), JSON.stringify(changed));
      await writeFile(
        join(directory, "model.safetensors"),
        safetensorsBytes({ [EVIL]: { dtype: "F32", shape: [1], data: new Uint8Array(4) } }),
      );
      for (const more of [[], ["--json"], ["--verbose"]]) {
        await expectClean(["inspect", join(directory, "config.json"), ...more]);
        await expectClean(["inspect", join(directory, "config.json"), "--layer-type", EVIL, ...more]);
        await expectClean(["inspect", `${directory}/`, ...more]);
      }
    }
  });
});

test("a scaling that needs another flag", async () => {
  const config = new URL("../../../examples/configs/qwen2.5-7b.json", import.meta.url).pathname;
  for (const type of ["yarn", "dynamic_yarn", "ntk_by_parts"]) {
    const { status, stderr } = await ropewalk(["inspect", config, "--rope-type", type]);
    assert.equal(status, 2);
    assert.match(stderr, new RegExp(`^error: --factor: is required for --rope-type ${type}`));
    for (const more of [
      ["--factor", "4"],
      ["--trained-length", "8192"],
      ["--set", "rope_scaling.factor=4"],
    ])
      assert.equal((await ropewalk(["inspect", config, "--rope-type", type, ...more])).status, 0, more.join(" "));
  }
});
