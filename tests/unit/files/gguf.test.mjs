// GGUF headers: valid ones are read as @huggingface/gguf reads them, errors name what is wrong.
import assert from "node:assert/strict";
import test from "node:test";
import { gguf } from "@huggingface/gguf";
import { ggufBytes, ggufHeader, tensorBytes, typed } from "../../files/gguf_writer.mjs";
import { fetchOnly, expectError, expectIntact, fileOf, openModel } from "../../files/reading.mjs";
import { serve } from "../../files/server.mjs";
import { ggufModel, ggufParts } from "../../files/tiny_models.mjs";

const open = (bytes, name = "m.gguf") => openModel(fetchOnly, fileOf(name, bytes));

const everyType = {
  u8: typed("u8", 255),
  i8: typed("i8", -128),
  u16: typed("u16", 65535),
  i16: typed("i16", -32768),
  u32: typed("u32", 4294967295),
  i32: typed("i32", -2147483648),
  f32: typed("f32", 0.1),
  bool: true,
  string: "ü",
  u64: typed("u64", 2n ** 53n - 1n),
  i64: typed("i64", -5n),
  f64: typed("f64", 0.1),
  big: typed("u64", 2n ** 64n - 1n),
  small: typed("i64", -(2n ** 63n)),
  bytes: typed("u8", [1, 2, 3]),
  floats: typed("f32", [0.5, -1]),
  flags: typed("bool", [true, false]),
  none: typed("string", []),
  nested: typed("array", [typed("i32", [1, 2]), typed("string", ["a", "b"])]),
  "general.alignment": 64,
};

test("every value type in both versions, as @huggingface/gguf reads them", async (t) => {
  for (const version of [2, 3]) {
    const model = {
      ...ggufModel({ metadata: { ...everyType, "tokenizer.ggml.tokens": ["a", "b"] } }),
      version,
      alignment: 64,
    };
    const bytes = ggufBytes(model);
    const { url } = await serve(t, { "m.gguf": bytes });
    const theirs = await gguf(`${url}m.gguf`);
    const ours = await open(bytes);
    const { version: _, tensor_count: __, kv_count: ___, ...metadata } = theirs.metadata;
    const asNumber = (value) =>
      typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
    assert.deepEqual(
      { ...ours.metadata },
      Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, asNumber(value)])),
    );
    assert.equal(ours.metadata.big, 2n ** 64n - 1n);
    assert.equal(ours.metadata.u64, 2 ** 53 - 1);
    const positionOf = (offset) => Number(offset + theirs.tensorDataOffset);
    const expected = theirs.tensorInfos.map(({ name, shape, offset }) => ({
      name,
      shape: shape.map(Number).reverse(),
      offset: positionOf(offset),
    }));
    assert.deepEqual(
      [...ours.tensors.values()].map(({ name, shape, offset }) => ({ name, shape: [...shape], offset })),
      expected,
    );
    for (const tensor of model.tensors) assert.equal(ours.tensors.get(tensor.name).bytes, tensorBytes(tensor));
    assert.equal(
      ours.bytes,
      model.tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0),
    );
    assert.deepEqual([ours.kind, ours.name], ["gguf", "m.gguf"]);
    await expectIntact(ours);
  }
});

test("strings keep a leading U+FEFF, and __proto__ is an ordinary key", async () => {
  const metadata = [
    ["__proto__", "plain"],
    ["general.architecture", "llama"],
    ["tokens", ["\ufeff", "\ufeffa"]],
  ];
  const model = await open(ggufBytes({ metadata }));
  assert.deepEqual(model.metadata.tokens, ["\ufeff", "\ufeffa"]);
  assert.equal(Object.getOwnPropertyDescriptor(model.metadata, "__proto__").value, "plain");
});

test("a string across the end of the first read", async () => {
  const long = `${"日本".repeat(150000)}END`;
  const model = await open(ggufBytes({ metadata: { pad: "x".repeat((1 << 20) - 400000), long, after: 1 } }));
  assert.ok(model.metadata.long === long, "complete");
  assert.equal(model.metadata.after, 1);
});

test("a header longer than the first read", async (t) => {
  const tokens = Array.from({ length: 150000 }, (_, i) => `token ${i} 日本`);
  const bytes = ggufBytes(ggufModel({ metadata: { "tokenizer.ggml.tokens": tokens } }));
  const { url, requests } = await serve(t, { "m.gguf": bytes });
  const model = await openModel(fetchOnly, `${url}m.gguf`);
  assert.deepEqual(model.metadata["tokenizer.ggml.tokens"], tokens);
  assert.equal(requests.length, 2);
  await expectIntact(model);
});

const tensor = (changes) => ({ name: "t", type: "f32", shape: [2, 32], ...changes });
const header = (changes) => ggufBytes({ metadata: { a: 1 }, tensors: [tensor()], ...changes });
const patched = (at, ...values) => {
  const bytes = header();
  bytes.set(values, at);
  return bytes;
};
const string = (...bytes) => Uint8Array.from(bytes);

const wrong = [
  ["no magic", patched(0, 0x58), "magic", /isn't GGUF: it doesn't start with "GGUF"/],
  ["an HTML page", new TextEncoder().encode("<!doctype html><p>no such file"), "magic", /HTML page/],
  ["a Git LFS pointer", new TextEncoder().encode("version https://git-lfs.github.com/spec/v1"), "magic", /LFS/],
  ["an empty file", new Uint8Array(0), "magic", /empty/],
  ["only the magic", header().slice(0, 4), "version", /truncated/],
  ["version 1", patched(4, 1), "version", /2 or 3/, "UNSUPPORTED_MODEL"],
  ["big-endian", patched(4, 0, 0, 0, 3), "version", /big-endian/, "UNSUPPORTED_MODEL"],
  ["more tensors than bytes", header({ tensorCount: 2n ** 40n }), "tensor count", /needs \d+ bytes, but the file has/],
  ["2^64 - 1 tensors", header({ tensorCount: 2n ** 64n - 1n }), "tensor count", /more than any file/],
  ["more entries than bytes", header({ entryCount: 2n ** 40n }), "metadata count", /needs \d+ bytes, but the file has/],
  ["2^63 entries", header({ entryCount: 2n ** 63n }), "metadata count", /more than any file/],
  ["a key longer than the file", patched(24, 0, 0, 0, 0, 0, 1), "metadata key 0", /needs \d+ bytes, but the file has/],
  [
    "a key twice",
    header({
      metadata: [
        ["a", 1],
        ["a", 2],
      ],
    }),
    "a",
    /twice/,
  ],
  ["a key that is not UTF-8", header({ metadata: [[string(0xff), 1]] }), "metadata key 0", /UTF-8/],
  ["a string that is not UTF-8", header({ metadata: { a: string(0xc3, 0x28) } }), "a", /UTF-8/],
  ["half a character", header({ metadata: { a: typed("string", ["ok", string(0xe6, 0x97)]) } }), "a", /UTF-8/],
  ["an unknown value type", patched(33, 99), "a", /value type 99/],
  ["a boolean of 2", header({ metadata: { a: typed("bool", 2) } }), "a", /0 or 1/],
  ["deeply nested arrays", header({ metadata: { a: [[[[[[1]]]]]] } }), "a", /nested/],
  ["an alignment of 0", header({ metadata: { "general.alignment": 0 } }), "general.alignment", /power of two/],
  ["an alignment of 24", header({ metadata: { "general.alignment": 24 } }), "general.alignment", /power of two/],
  [
    "an alignment that is text",
    header({ metadata: { "general.alignment": "32" } }),
    "general.alignment",
    /power of two/,
  ],
  ["a tensor name that is not UTF-8", header({ tensors: [tensor({ name: string(0x80) })] }), "tensor name 0", /UTF-8/],
  ["a tensor twice", header({ tensors: [tensor(), tensor()] }), "t", /two tensors/],
  ["five dimensions", header({ tensors: [tensor({ dimensions: [1, 1, 1, 1, 1] })] }), "t", /5 dimensions/],
  [
    "lengths whose product overflows",
    header({ tensors: [tensor({ dimensions: [2 ** 31, 2 ** 31, 2 ** 31, 4] })] }),
    "t",
    /too large/,
  ],
  ["a length of 2^64 - 1", header({ tensors: [tensor({ dimensions: [2n ** 64n - 1n] })] }), "t", /more than any file/],
  ["a tensor larger than the file", header({ tensors: [tensor({ dimensions: [2 ** 20] })] }), "t", /truncated/],
  [
    "rows that are not whole blocks",
    header({ tensors: [tensor({ type: "q4_0", dimensions: [33, 2] })] }),
    "t",
    /blocks of 32/,
  ],
  [
    "an unsupported type with a name",
    header({ tensors: [tensor({ typeNumber: 9 })] }),
    "t",
    /Q8_1 is not supported; use a file with F32, F16/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "a type removed from ggml",
    header({ tensors: [tensor({ typeNumber: 4 })] }),
    "t",
    /type Q4_2 is not/,
    "UNSUPPORTED_MODEL",
  ],
  [
    "an unknown type",
    header({ tensors: [tensor({ typeNumber: 2 ** 32 - 1 })] }),
    "t",
    /number 4294967295/,
    "UNSUPPORTED_MODEL",
  ],
  ["a misaligned offset", header({ tensors: [tensor({ offset: 8 })] }), "t", /alignment 32/],
  ["an offset outside the file", header({ tensors: [tensor({ offset: 2 ** 40 })] }), "t", /truncated/],
  ["an offset of 2^64 - 32", header({ tensors: [tensor({ offset: 2n ** 64n - 32n })] }), "t", /more than any file/],
  ["tensors that overlap", header({ tensors: [tensor(), tensor({ name: "u", offset: 224 })] }), "u", /inside t/],
];

test("errors name what is wrong in a header", async (t) => {
  for (const [title, bytes, part, message, code = "INVALID_FILE"] of wrong) {
    await t.test(title, () => expectError(open(bytes), code, `m.gguf: ${part}`, message));
  }
});

test("unsupported tensor types are refused by name", async () => {
  // ggml.h in November 2026; types that were removed from it keep their numbers
  const names = {
    ...{ 4: "Q4_2", 5: "Q4_3", 9: "Q8_1", 15: "Q8_K", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64" },
    ...{ 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8", 36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8" },
  };
  for (let typeNumber = 0; typeNumber < 50; typeNumber++) {
    const opened = open(header({ tensors: [tensor({ typeNumber, shape: [1, 256] })] }));
    const name = names[typeNumber] ?? (typeNumber > 43 ? `number ${typeNumber}` : undefined);
    if (name === undefined)
      await opened.catch(({ code }) => assert.equal(code, "INVALID_FILE", "only its length is wrong"));
    else
      await expectError(opened, "UNSUPPORTED_MODEL", "m.gguf: t", new RegExp(`tensor type ${name} is not supported`));
  }
});

test("names in a file can't reach a terminal as they are, or make messages long", async () => {
  const title = "\u001b]0;title\u0007";
  for (const bytes of [
    header({ tensors: [tensor({ name: title }), tensor({ name: title })] }),
    header({ tensors: [tensor({ name: title }), tensor({ name: "b", offset: 32 })] }),
    header({ metadata: { [title]: typed("bool", 2) } }),
    header({ metadata: { [`${title}${"x".repeat(60_000)}`]: typed("bool", 2) } }),
  ]) {
    await assert.rejects(open(bytes), ({ name, field, message }) => {
      assert.equal(name, "RopewalkError");
      assert.match(field + message, /\\u001b/);
      // eslint-disable-next-line no-control-regex -- these must not be there
      assert.doesNotMatch(field + message, /[\u0000-\u001f\u007f-\u009f]/);
      assert.ok(message.length < 1000);
      return true;
    });
  }
  const long = header({ metadata: { ["x".repeat(70_000)]: 1 } });
  await expectError(open(long), "INVALID_FILE", "m.gguf: metadata key 0", /70000 bytes, more than the limit of 65535/);
});

test("a file truncated at any byte is rejected", async () => {
  const bytes = ggufBytes({ metadata: { a: ["x", "y"] }, tensors: [tensor()] });
  for (let length = 0; length < bytes.length; length++) {
    await assert.rejects(open(bytes.slice(0, length)), { code: "INVALID_FILE" }, `${length} bytes`);
  }
  await open(bytes);
});

test("memory is allocated for a count only if the file has the bytes for it", async () => {
  const bytes = ggufHeader({ metadata: { a: typed("u8", [1]) } });
  new DataView(bytes.buffer).setBigUint64(24 + 9 + 4 + 4, 2n ** 47n, true);
  const before = process.memoryUsage().arrayBuffers;
  await expectError(open(bytes), "INVALID_FILE", "m.gguf: a", /needs \d+ bytes, but the file has/);
  assert.ok(process.memoryUsage().arrayBuffers - before < 4 << 20, "no more than the file");
});

const files = (parts) => Object.entries(parts).map(([name, bytes]) => fileOf(name, bytes));
const set = (key, value) => ({
  change: (part, i) => (i === 1 ? { ...part, metadata: { ...part.metadata, [key]: typed("u16", value) } } : part),
});

test("a split model, opened by any of its parts", async (t) => {
  const parts = ggufParts();
  const { url } = await serve(t, parts);
  for (const name of Object.keys(parts)) {
    const model = await openModel(fetchOnly, `${url}${name}`);
    assert.equal(model.metadata["general.architecture"], "llama");
    assert.deepEqual(new Set([...model.tensors.values()].map(({ file }) => file)), new Set([0, 1, 2]));
    await expectIntact(model);
  }
  await expectIntact(await openModel(fetchOnly, files(parts)));
});

test("parts that are missing, repeated, renamed or contradictory", async (t) => {
  const second = "tiny-00002-of-00003.gguf";
  const without = ggufParts();
  delete without[second];
  await expectError(openModel(fetchOnly, files(without)), "INVALID_FILE", `${second}: part 2 of 3`, /not among/);
  const { url } = await serve(t, without);
  await expectError(
    openModel(fetchOnly, `${url}tiny-00001-of-00003.gguf`),
    "INVALID_FILE",
    `${second}: part 2 of 3`,
    /404/,
  );

  const repeated = ggufParts();
  repeated[second] = repeated["tiny-00001-of-00003.gguf"];
  await expectError(
    openModel(fetchOnly, files(repeated)),
    "INVALID_FILE",
    `${second}: split.no`,
    /renamed or repeated/,
  );
  const twice = files(ggufParts());
  await expectError(openModel(fetchOnly, [...twice, twice[1]]), "INVALID_FILE", `${second}: part 2 of 3`, /twice/);

  await expectError(
    openModel(fetchOnly, files(ggufParts(3, set("split.no", 2)))),
    "INVALID_FILE",
    `${second}: split.no`,
    /is 2/,
  );
  await expectError(
    openModel(fetchOnly, files(ggufParts(3, set("split.count", 4)))),
    "INVALID_FILE",
    `${second}: split.count`,
    /is 4/,
  );
  await expectError(
    openModel(fetchOnly, fileOf("first.gguf", ggufParts()[second])),
    "INVALID_FILE",
    "first.gguf: split.count",
    /named <name>-00001-of-00003\.gguf/,
  );
  const again = { name: "f32.weight", type: "f32", shape: [1] };
  const uncounted = (part) => ({ "split.no": part.metadata["split.no"], "split.count": part.metadata["split.count"] });
  const inTwo = {
    change: (part, i) => ({ tensors: i === 1 ? [...part.tensors, again] : part.tensors, metadata: uncounted(part) }),
  };
  await expectError(
    openModel(fetchOnly, files(ggufParts(3, inTwo))),
    "INVALID_FILE",
    `${second}: f32.weight`,
    /is also in tiny-00001-of-00003\.gguf/,
  );
  const doubled = { change: (part, i) => ({ ...part, tensors: i === 1 ? [...part.tensors, again] : part.tensors }) };
  await expectError(
    openModel(fetchOnly, files(ggufParts(3, doubled))),
    "INVALID_FILE",
    "tiny-00001-of-00003.gguf: split.tensors.count",
    /in total/,
  );
});
