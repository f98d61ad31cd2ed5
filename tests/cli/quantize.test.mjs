// `ropewalk convert quantize`, and the option --quantize. The tensors are compared with those that llama-quantize writes.
import assert from "node:assert/strict";
import { cp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import { GGMLQuantizationType, gguf } from "@huggingface/gguf";
import { ggufBytes, tensorTypes, writeGguf } from "../files/gguf_writer.mjs";
import { safetensorsBytes } from "../files/safetensors_writer.mjs";
import { wideModel } from "../files/wide_model.mjs";
import { ropewalk, withFolder } from "./program.mjs";

const golden = JSON.parse(await readFile(new URL("../golden/quantized_files.json", import.meta.url), "utf8"));
const tiny = (...path) => join(import.meta.dirname, "..", "golden", "tiny_models", ...path);
const quantize = (input, output, to, ...rest) => ropewalk(["convert", "quantize", input, output, "--to", to, ...rest]);
const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

/** Metadata and tensors of a file, as @huggingface/gguf reads them. */
async function read(path) {
  const { metadata, tensorInfos, tensorDataOffset } = await gguf(path, { allowLocalFile: true });
  const bytes = await readFile(path);
  const tensors = tensorInfos.map(({ name, shape, dtype, offset }) => {
    const format = GGMLQuantizationType[dtype].toLowerCase();
    const [, elements, blockBytes] = tensorTypes[format];
    const length = (Number(shape.reduce((product, extent) => product * extent, 1n)) / elements) * blockBytes;
    const start = Number(tensorDataOffset + offset);
    const data = bytes.subarray(start, start + length);
    assert.equal(data.length, length);
    return [name, { format, shape: shape.map(Number), data }];
  });
  return { metadata, tensors: Object.fromEntries(tensors), size: bytes.length };
}

const formatsAndSums = ({ tensors }) =>
  sorted(Object.fromEntries(Object.entries(tensors).map(([name, { format, data }]) => [name, [format, crc32(data)]])));

for (const { source, to, tensors } of golden.files) {
  test(`${source} in ${to}: the tensors that llama-quantize writes`, () =>
    withFolder(async (folder) => {
      const [input, output] = [
        source === "wide" ? join(folder, "in.gguf") : tiny(source, "model.gguf"),
        join(folder, "out.gguf"),
      ];
      if (source === "wide") await writeGguf(input, wideModel());
      const { status, stdout, stderr } = await quantize(input, output, to, "--json");
      assert.equal(status, 0, stderr);
      const [before, after] = [await read(input), await read(output)];
      assert.deepEqual(formatsAndSums(after), sorted(tensors));
      const changed = ["general.file_type", "general.quantization_version", "kv_count"];
      const without = (metadata) =>
        Object.fromEntries(Object.entries(metadata).filter(([key]) => !changed.includes(key)));
      assert.deepEqual(without(after.metadata), without(before.metadata));
      const [type, version] = changed.map((key) => after.metadata[key]);
      assert.deepEqual([type, version], [{ q8_0: 7, q4_0: 2, q4_k: 14 }[to], 2]);
      const counts = {};
      for (const [format] of Object.values(tensors)) counts[format] = (counts[format] ?? 0) + 1;
      const result = JSON.parse(stdout);
      assert.deepEqual(sorted(result.tensors), sorted(counts));
      assert.equal(result.bytes, after.size);
    }));
}

for (const source of ["llama", "llama3", "qwen2", "qwen3", "qwen3_moe"]) {
  test(`${source} from safetensors: the tensors of its GGUF file, quantized`, () =>
    withFolder(async (folder) => {
      const output = join(folder, "out.gguf");
      const { status, stdout, stderr } = await quantize(tiny(source), output, "q4_0");
      assert.equal(status, 0, stderr);
      assert.match(stdout, /out\.gguf: \d+ tensors \(\d+ in /);
      const { tensors } = golden.files.find((file) => file.source === source && file.to === "q4_0");
      const [ours, theirs] = [await read(output), await read(tiny(source, "model.gguf"))];
      const sums = formatsAndSums(ours);
      const { "rope_freqs.weight": frequencies, ...others } = sums;
      const { "rope_freqs.weight": theirFrequencies, ...expected } = tensors;
      assert.deepEqual(others, sorted(expected));
      assert.equal(frequencies === undefined, theirFrequencies === undefined);
      if (frequencies !== undefined) assert.deepEqual(factorsOf(ours), factorsOf(theirs)); // the last bit may differ
      for (const [name, { shape }] of Object.entries(theirs.tensors))
        assert.deepEqual(ours.tensors[name].shape, shape, name);
      // every key that the other converter wrote, except for names
      for (const [key, value] of Object.entries(theirs.metadata)) {
        if (/^general\.(name|file_type|tensor_count|kv_count)$|^(version|tensor_count|kv_count)$/.test(key)) continue;
        const ourValue = ours.metadata[key];
        if (key.endsWith("freq_base") || typeof value !== "number" || Number.isInteger(value))
          assert.deepEqual(ourValue, value, key);
        else assert.ok(Math.abs(ourValue - value) <= 1e-7 * Math.abs(value), key);
      }
    }));
}

const factorsOf = ({ tensors }) => {
  const { data } = tensors["rope_freqs.weight"];
  return Array.from({ length: data.length / 4 }, (_, i) => Number(data.readFloatLE(4 * i).toPrecision(6)));
};

test("a model in several files becomes one file", () =>
  withFolder(async (folder) => {
    const { metadata, tensors } = wideModel();
    for (const part of [0, 1]) {
      const split = { "split.no": part, "split.count": 2, "split.tensors.count": tensors.length };
      const own = tensors.filter((_, i) => i % 2 === part);
      const bytes = ggufBytes({ metadata: { ...(part === 0 && metadata), ...split }, tensors: own });
      await writeFile(join(folder, `wide-0000${part + 1}-of-00002.gguf`), bytes);
    }
    const output = join(folder, "out.gguf");
    const { status, stderr } = await quantize(join(folder, "wide-00002-of-00002.gguf"), output, "q8_0");
    assert.equal(status, 0, stderr);
    const written = await read(output);
    assert.deepEqual(
      formatsAndSums(written),
      sorted(golden.files.find((f) => f.source === "wide" && f.to === "q8_0").tensors),
    );
    assert.equal(written.metadata["split.count"], undefined);
    assert.equal(written.metadata["tokenizer.ggml.tokens"].length, 64);
  }));

test("--quantize gives the tokens of the quantized file", () =>
  withFolder(async (folder) => {
    const [input, output] = [join(folder, "in.gguf"), join(folder, "out.gguf")];
    await writeGguf(input, wideModel());
    const { status, stderr } = await quantize(input, output, "q4_k");
    assert.equal(status, 0, stderr);
    const generate = (model, ...rest) =>
      ropewalk(["generate", model, "AAB", "--temperature", "0", "-n", "8", "--json", ...rest]);
    const [quantized, file] = await Promise.all([generate(input, "--quantize", "q4_k"), generate(output)]);
    assert.equal(quantized.status, 0, quantized.stderr);
    assert.deepEqual(JSON.parse(quantized.stdout).tokens, JSON.parse(file.stdout).tokens);
    const { stdout } = await ropewalk(["inspect", input, "--quantize", "q4_k"]);
    assert.match(stdout, /matrices: q4_k .* KiB, q6_k .* KiB; file: f16 /);
    const { model } = JSON.parse((await ropewalk(["inspect", output, "--json"])).stdout);
    const inspected = JSON.parse((await ropewalk(["inspect", input, "--quantize", "q4_k", "--json"])).stdout).model;
    assert.deepEqual(inspected.loadedFormats, model.loadedFormats);
    assert.deepEqual(inspected.memory, model.memory);
  }));

test("invalid arguments and models that can't be written are errors, and no file is left", () =>
  withFolder(async (folder) => {
    const output = join(folder, "out.gguf");
    const input = tiny("llama", "model.gguf");
    const folderWith = async (name, change) => {
      const copy = join(folder, name);
      await cp(tiny("llama"), copy, { recursive: true });
      await rm(join(copy, "model.gguf"));
      await change(copy);
      return copy;
    };
    const editJson = (file, edit) => async (copy) => {
      const path = join(copy, file);
      await writeFile(path, JSON.stringify(edit(JSON.parse(await readFile(path, "utf8")))));
    };
    const linear = await folderWith(
      "other",
      editJson("config.json", (config) => ({ ...config, model_type: "phi3" })),
    );
    const metaspace = await folderWith(
      "metaspace",
      editJson("tokenizer.json", (json) => ({ ...json, model: { ...json.model, byte_fallback: true } })),
    );
    const unknownWords = await folderWith(
      "words",
      editJson("tokenizer.json", (json) => ({
        ...json,
        pre_tokenizer: { type: "Split", pattern: { Regex: "a+" }, behavior: "Isolated", invert: false },
      })),
    );
    const infinite = await folderWith("infinite", async (copy) => {
      const path = join(copy, "model.safetensors");
      const bytes = await readFile(path);
      bytes.writeFloatLE(Infinity, bytes.length - 4 * 4096);
      await writeFile(path, bytes);
    });
    const linked = join(folder, "linked.gguf");
    await symlink(input, linked);
    const cases = [
      [[input, output, "--to", "q4"], 2, /Must be one of q8_0, q4_0, q4_k\. Did you mean q4_0\?/],
      [[input, output], 2, /required option '--to <format>'/],
      [[input, join(folder, "out.bin"), "--to", "q8_0"], 2, /output: must end in \.gguf/],
      [[input, linked, "--to", "q8_0"], 2, /output: is an input file of this command/],
      [["https://example.org/model.gguf", output, "--to", "q8_0"], 2, /is a URL/],
      [[tiny("llama_q8_0", "model.gguf"), output, "--to", "q4_0"], 2, /has no matrices in f32, f16 or bf16/],
      [[linear, output, "--to", "q8_0"], 1, /model_type: phi3 can't be written as GGUF, only llama, mistral/],
      [[metaspace, output, "--to", "q8_0"], 1, /only byte-level BPE tokenizers can be written/],
      [[unknownWords, output, "--to", "q8_0"], 1, /pre_tokenizer: has none of the known rules/],
      [[infinite, output, "--to", "q8_0"], 1, /infinite, NaN or huge/],
      [["generate", input, "a", "--quantize", "q5"], 2, /Must be one of q8_0, q4_0, q4_k/],
      [["bench", "--quantize", "q8_0"], 2, /--quantize: needs a model/],
      [["inspect", tiny("llama", "config.json"), "--quantize", "q8_0"], 2, /--quantize: needs a model/],
    ];
    const before = await readdir(folder);
    for (const [words, expected, message] of cases) {
      const isCommand = ["generate", "bench", "inspect"].includes(words[0]);
      const { status, stdout, stderr } = await ropewalk(isCommand ? words : ["convert", "quantize", ...words]);
      assert.deepEqual([status, stdout], [expected, ""], `${words.join(" ")}: ${stderr}`);
      assert.match(stderr, message);
    }
    assert.deepEqual(await readdir(folder), before);
  }));

test("what attention does past a length, and GGUF has no key for, is a warning that names the option", () =>
  withFolder(async (folder) => {
    await cp(tiny("qwen2"), folder, { recursive: true });
    await rm(join(folder, "model.gguf"));
    const path = join(folder, "config.json");
    const config = JSON.parse(await readFile(path, "utf8"));
    const chunks = { chunk_size: 24, local_size: 8, original_max_position_embeddings: 64 };
    await writeFile(path, JSON.stringify({ ...config, dual_chunk_attention_config: chunks }));
    const output = join(folder, "out.gguf");
    const { status, stdout, stderr } = await quantize(folder, output, "q8_0", "--json");
    assert.equal(status, 0, stderr);
    const lost = JSON.parse(stdout).warnings.filter((text) => text.startsWith("GGUF has no key for"));
    assert.equal(lost.length, 2, stdout);
    assert.match(lost[0], /the position map dual_chunk.* more than 16 tokens .* --position-map dual_chunk:24:8$/);
    const [, logn] = /the log-n scaling: .* more than 64 tokens .* --set logn='(.*)'$/.exec(lost[1]);
    const ropeOf = async (model, ...rest) => {
      const result = await ropewalk(["perplexity", model, path, "--window", "100", "--json", ...rest]);
      assert.equal(result.status, 0, result.stderr);
      const [{ rope }] = JSON.parse(result.stdout).results;
      return [rope.position_map, rope.logn];
    };
    const opened = await ropeOf(output, "--position-map", "dual_chunk:24:8", "--set", `logn=${logn}`);
    assert.deepEqual(opened, await ropeOf(folder));
    assert.equal(opened[0].chunk_size, 24);
  }));

test("f16 and bf16 safetensors, with f32 vectors in the GGUF file", () =>
  withFolder(async (folder) => {
    await cp(tiny("llama"), folder, { recursive: true });
    await rm(join(folder, "model.gguf"));
    const path = join(folder, "model.safetensors");
    const bytes = await readFile(path);
    const headerBytes = Number(bytes.readBigUInt64LE(0));
    const header = JSON.parse(bytes.toString("utf8", 8, 8 + headerBytes));
    const tensors = Object.entries(header).filter(([name]) => name !== "__metadata__");
    const upperHalves = (data) => Buffer.from(data.filter((_, i) => i % 4 >= 2)); // truncated to bf16
    const halved = tensors.map(
      ([
        name,
        {
          shape,
          data_offsets: [begin, end],
        },
      ]) => {
        const data = upperHalves(bytes.subarray(8 + headerBytes + begin, 8 + headerBytes + end));
        return [name, { dtype: "BF16", shape, data }];
      },
    );
    await writeFile(path, safetensorsBytes(Object.fromEntries(halved)));
    const output = join(folder, "out.gguf");
    const { status, stderr } = await quantize(folder, output, "q8_0");
    assert.equal(status, 0, stderr);
    const written = await read(output);
    const norm = written.tensors["output_norm.weight"];
    const stored = halved.find(([name]) => name === "model.norm.weight")[1].data;
    assert.equal(norm.format, "f32");
    assert.deepEqual(upperHalves(norm.data), stored);
    assert.equal(written.tensors["blk.0.attn_q.weight"].format, "q8_0");
  }));
