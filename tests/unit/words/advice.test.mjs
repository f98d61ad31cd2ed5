// What errors advise is data, and each front end has its sentences for it: the API, the command line, the server and the AI SDK.
import assert from "node:assert/strict";
import test from "node:test";
import { Command } from "commander";
import * as advise from "../../../build/package/core/base/advice.js";
import { changed, fail, RopewalkError } from "../../../build/package/core/base/errors.js";
import { inSdkWords } from "../../../build/package/apps/ai_sdk/sdk_words.js";
import { inCommandWords } from "../../../build/package/apps/cli/command_words.js";
import { inServerWords } from "../../../build/package/apps/cli/serve/server_words.js";

/** A command whose options have the names of the real ones. */
function commandWith(words = []) {
  const command = new Command("generate")
    .argument("[source]")
    .option("--context <n>")
    .option("--kv <dtype>")
    .option("--rope-type <type>")
    .option("--factor <n>")
    .option("--trained-length <n>")
    .option("--theta <n>")
    .option("--pairing <name>")
    .option("--set <key>")
    .option("--scaling <name>")
    .option("--top-p <p>")
    .option("--layer-type <kind>")
    .option("--truncate")
    .option("--when-full <policy>")
    .option("--draft <model>")
    .option("--chat-template <file>")
    .option("--json-schema <file>");
  return command.parse(words, { from: "user" });
}

/** What each front end says after "is wrong"; "" if it says nothing. */
function said(advised, words) {
  const error = new RopewalkError("INVALID_ARGUMENT", "", "is wrong", advised);
  const rest = ({ message }) => message.replace(/^is wrong(; )?/, "");
  return [error, inCommandWords(error, commandWith(words)), inServerWords(error), inSdkWords(error)].map(rest);
}

const SAME = Symbol("as the API says it");

/** An advice, and what the API, the command line, the server and the AI SDK say for it. */
const CASES = [
  [advise.other("download it again"), "download it again", SAME, SAME, SAME],
  [advise.spell({ name: "topK" }), "did you mean topK?", SAME, SAME, SAME],
  [advise.spell({ name: "contextLength", from: "n_ctx" }), "`n_ctx` is `contextLength` here", SAME, SAME, SAME],
  [advise.choose({ names: ["a", "b"] }), "use one of a, b", SAME, SAME, SAME],
  [
    advise.raise({ option: "contextLength" }),
    "use a larger contextLength",
    "use a larger --context",
    "start the server with a larger --context",
    SAME,
  ],
  [
    advise.raise({ option: "contextLength", of: "model", most: 512 }),
    "load the model with a larger contextLength, at most 512",
    "raise --context, at most 512",
    "start the server with a larger --context, at most 512",
    SAME,
  ],
  [
    advise.raise({ option: "contextLength", of: "model", trained: 512 }),
    "load the model with a larger contextLength (above 512, with a scaling of its RoPE)",
    "raise --context (above 512, with a scaling of its RoPE)",
    "start the server with a larger --context (above 512, with a scaling of its RoPE)",
    SAME,
  ],
  [advise.raise({ option: "maxBytes" }), "raise maxBytes", "", "", SAME],
  [
    advise.lower({ options: ["contextLength", "kv.dtype"] }),
    "use a smaller contextLength or a smaller kv.dtype",
    "use a smaller --context or --kv",
    "start the server with a smaller --context",
    SAME,
  ],
  [
    advise.pass({ option: "truncate", value: "true" }),
    "pass truncate: true",
    "pass --truncate",
    SAME,
    "pass providerOptions.ropewalk.truncate: true",
  ],
  [
    advise.pass({ option: "whenFull", value: '"shift"' }),
    'pass whenFull: "shift"',
    "pass --when-full shift",
    "",
    'pass providerOptions.ropewalk.whenFull: "shift"',
  ],
  [advise.pass({ option: "draft" }), "pass draft", "pass --draft", "", "pass providerOptions.ropewalk.draft"],
  [
    advise.load({ option: "chatTemplate" }),
    "load the model with the option `chatTemplate`",
    "pass --chat-template",
    "start the server with --chat-template",
    SAME,
  ],
  [
    advise.load({ option: "tokenizer" }),
    "load the model with the option `tokenizer`",
    "use a GGUF file that has a tokenizer",
    "serve a file with a tokenizer",
    SAME,
  ],
  [
    advise.load({ option: "quantize" }),
    "load the original model with the option `quantize`",
    "use the original model with --quantize",
    "",
    SAME,
  ],
  [
    advise.load({ option: "rope", saved: true }),
    "load the model with the option `rope` as it was when it was saved",
    "start with the options of RoPE that it was saved with",
    "",
    SAME,
  ],
  [
    advise.load({ option: "kv.dtype", value: '"f16"', saved: true }),
    'load the model with kv: { dtype: "f16" }',
    "start with --kv f16",
    "",
    SAME,
  ],
  [
    advise.load({ option: "kv.dtype", value: '"bf16"' }),
    'load the model with kv: { dtype: "bf16" }',
    "pass --kv bf16",
    "",
    SAME,
  ],
  [
    advise.leaveOut({ option: "format" }),
    "leave out format",
    "leave out --json-schema",
    "leave out response_format",
    "leave out providerOptions.ropewalk.format",
  ],
  [
    advise.call({ calls: ["embed", "rank"] }),
    "call embed() or rank()",
    "use ropewalk embed or ropewalk rank",
    "use /v1/embeddings",
    "use embed() with embeddingModel() or rerank() with rerankingModel()",
  ],
  [advise.call({ calls: ["shift", "rewind"] }), "call shift() or rewind()", "", "", ""],
  [
    advise.call({ calls: ["completions.create"] }),
    "call completions.create()",
    "use ropewalk generate without --chat",
    "use /v1/completions",
    "",
  ],
  [advise.shorten(), "call shift() or rewind() first", "start again", "", ""],
  [
    advise.dispose({ of: ["tensors", "models"] }),
    "dispose of tensors or models",
    "use a smaller model, or a smaller --context",
    "send less, or start the server with a smaller --context",
    SAME,
  ],
  [advise.override({ key: "head_dim" }), "set head_dim in the overrides", "name it with --set head_dim", "", SAME],
  [
    advise.pairing(),
    'pass overrides: { pairing: "half" | "interleaved" | "interleaved_to_half" }',
    "pass --pairing half, interleaved or interleaved_to_half",
    "",
    SAME,
  ],
  [
    advise.ropeType({ types: ["linear", "yarn"] }),
    "only linear, yarn do",
    "name one that does with --rope-type: linear, yarn",
    "",
    SAME,
  ],
  [
    advise.replace({}),
    "add replace: true to rope_scaling",
    "name a scaling with --rope-type, which drops that",
    "",
    SAME,
  ],
  [
    advise.replace({ key: "freq_factors" }),
    "add replace: true to rope_scaling to drop that, or freq_factors",
    "name a scaling with --rope-type, which drops that",
    "",
    SAME,
  ],
  [
    advise.extend({ rope_type: "yarn", factor: 4 }),
    "extend it with rope_type yarn and factor 4",
    "extend it with --rope-type yarn --factor 4",
    "",
    SAME,
  ],
  [
    advise.extend({ rope_type: "yarn", factor: 4, window: 128 }),
    'extend it with rope_type yarn and factor 4, or with position_map { type: "rerope", window: 128 }',
    "extend it with --rope-type yarn --factor 4, or with --position-map rerope:128",
    "",
    SAME,
  ],
  [
    advise.template({ names: ["a", "b"] }),
    "choose one with the option `templateName`: a, b",
    "choose one with --template-name: a, b",
    "start the server with --template-name and one of a, b",
    "choose one with the option `templateName` of createRopewalk(): a, b",
  ],
  [
    advise.prompt({ as: "text" }),
    "pass the prompt as text",
    "use ropewalk generate without --chat",
    "use /v1/completions",
    "",
  ],
  [advise.prompt({ as: "token ids" }), "pass token ids", "", "pass token ids", ""],
  [
    advise.prompt({ as: "tokens" }),
    "pass text, or token ids, with at least one token",
    "pass some text",
    "send some text",
    "pass some text",
  ],
  [advise.sameAdapters(), "open it with the same adapters and scales", "pass the same --lora", "", ""],
  [
    advise.resave(),
    "read it again from where it is kept, or save it again",
    "name another file, or delete this one",
    "",
    "",
  ],
  [
    advise.adapter(),
    "load its base model, and then this as an adapter",
    "open its base model, and pass this with --lora",
    "",
    SAME,
  ],
  [advise.credentials(), "pass credentials in `headers`", "download the file with a program that has access", "", SAME],
  [
    advise.hubToken({ address: "https://hub.example/settings/tokens" }),
    "make a token at https://hub.example/settings/tokens and pass it as `token`",
    "make a token at https://hub.example/settings/tokens and set HF_TOKEN to it",
    "",
    SAME,
  ],
  [
    advise.hubToken({ address: "https://hub.example/settings/tokens", licence: "https://hub.example/org/m" }),
    "accept its licence on https://hub.example/org/m, then make a token at https://hub.example/settings/tokens and pass it as `token`",
    "accept its licence on https://hub.example/org/m, then make a token at https://hub.example/settings/tokens and set HF_TOKEN to it",
    "",
    SAME,
  ],
  [advise.hubAddress(), "check the address in `hub`", "check the address of --hub", "", SAME],
  [advise.blobs(), "in a page, pass the files as Blobs", "", "", SAME],
  [advise.blobs({ all: true }), "pass all of its files as an array of Blobs", "", "", SAME],
  [advise.code("use a Tensor"), "use a Tensor", "", "", ""],
  [advise.call({ calls: ["append"], first: true }), "call append() first", "", "", ""],
  [
    advise.override({ key: "compat", value: "llama.cpp" }),
    "set compat to llama.cpp in the overrides",
    "name it with --set compat=llama.cpp",
    "",
    SAME,
  ],
  [
    advise.dispose({ of: ["tensors"], orUse: "smaller ones" }),
    "dispose of tensors, or use smaller ones",
    "use a smaller model, or a smaller --context",
    "send less, or start the server with a smaller --context",
    SAME,
  ],
];

test("each advice has its words in each front end", () => {
  for (const [advised, api, ...others] of CASES) {
    const expected = [api, ...others.map((words) => (words === SAME ? api : words))];
    assert.deepEqual(said(advised, ["--json-schema", "x"]), expected, api);
  }
});

test("each kind of advice is tested here", () => {
  const kinds = Object.keys(advise).filter((name) => !["either", "boundsOf", "licenceOf"].includes(name));
  assert.deepEqual(new Set(CASES.map(([{ advice }]) => advice.do)), new Set(kinds));
});

test("what can't be done in a front end isn't said, and the others are joined", () => {
  const advised = advise.either(
    advise.other("send less"),
    advise.call({ calls: ["shift"] }),
    advise.raise({ option: "contextLength" }),
  );
  assert.deepEqual(advised.advice, {
    do: "other",
    words: "send less",
    or: { do: "call", calls: ["shift"], or: { do: "raise", option: "contextLength" } },
  });
  assert.deepEqual(said(advised), [
    "send less, call shift(), or use a larger contextLength",
    "send less, or use a larger --context",
    "send less, or start the server with a larger --context",
    "send less, or use a larger contextLength",
  ]);
});

test("an error has its parts, and its message is the field, the problem and the words of the advice", () => {
  const thrown = (() => {
    try {
      fail("CACHE_FULL", "tokens", "9 tokens don't fit", advise.raise({ option: "contextLength" }));
    } catch (error) {
      return error;
    }
  })();
  assert.equal(thrown.message, "tokens: 9 tokens don't fit; use a larger contextLength");
  assert.equal(thrown.problem, "9 tokens don't fit");
  assert.deepEqual(thrown.advice, { do: "raise", option: "contextLength" });
  assert.deepEqual(JSON.parse(JSON.stringify(thrown)), {
    name: "RopewalkError",
    code: "CACHE_FULL",
    field: "tokens",
    problem: "9 tokens don't fit",
    advice: { do: "raise", option: "contextLength" },
  });
  const renamed = changed(thrown, { field: "prompt" });
  assert.equal(renamed.message, "prompt: 9 tokens don't fit; use a larger contextLength");
  assert.deepEqual(renamed.advice, thrown.advice);
  const plain = new RopewalkError("DISPOSED", "", "is disposed");
  assert.deepEqual([plain.message, plain.advice], ["is disposed", undefined]);
});
