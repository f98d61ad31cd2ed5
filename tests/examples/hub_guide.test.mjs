// Runs docs/apps/hub.md against a stand-in for the Hub, where the small model of this repository stands for those that the page names.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { serveHub, TOKEN } from "../files/hub.mjs";
import { assertPrinted, commandsOf, read, root, runCommand, runProgram } from "./guide_page.mjs";

const page = "docs/apps/hub.md";
const file = (name) => readFile(join(root, "examples", "small_model", name));

test(page, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "ropewalk-guide-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const safetensors = {
    "config.json": await file("config.json"),
    "tokenizer.json": await file("tokenizer.json"),
    "model.safetensors": await file("model.safetensors"),
  };
  const gguf = await file("model.q8_0.gguf");
  const { url } = await serveHub(t, {
    "HuggingFaceTB/SmolLM2-135M-Instruct": { files: safetensors },
    "Qwen/Qwen2.5-0.5B-Instruct-GGUF": {
      files: { "qwen2.5-0.5b-instruct-q4_k_m.gguf": gguf, "qwen2.5-0.5b-instruct-q8_0.gguf": gguf },
    },
    "meta-llama/Llama-3.2-1B-Instruct": { files: safetensors, gated: "manual" },
  });
  Object.assign(process.env, { HF_ENDPOINT: url, HF_HUB_CACHE: folder, HF_TOKEN: TOKEN });
  const text = await read(page);
  assert.ok((await runProgram(page)) >= 10);
  await rm(folder, { recursive: true, force: true }); // what headers alone have kept: small files
  const commands = commandsOf(text);
  assert.equal(commands.length, 2);
  for (const { command, printed } of commands.reverse()) assertPrinted(await runCommand(command, folder), printed);
  assert.ok(text.split("\n").length <= 170);
  for (const line of text.split("\n")) assert.ok(line.startsWith("|") || line.length <= 160, line);
});
