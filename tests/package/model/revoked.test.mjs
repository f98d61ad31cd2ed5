// Revoked Proxies in place of lists, objects and options: everything on them throws, and callers get a RopewalkError.
import { after, test } from "node:test";
import { load } from "ropewalk/worker";
import { revoked } from "../helpers/hostile.mjs";
import { tinyModel } from "../helpers/models.mjs";
import { build, raises, rejects, rw } from "../helpers/runtime.mjs";

const path = tinyModel("llama/model.gguf");
const model = await rw.model(path, { chatTemplate: "{{ messages[0].content }}" });
const workerRw = await load({ build });
after(async () => {
  model.dispose();
  await workerRw.dispose();
});

const proxies = [revoked({}), revoked([]), revoked(() => 0)];
const chat = [{ role: "user", content: "a" }];
const INVALID = "INVALID_ARGUMENT";

test("tokenizers", async () => {
  for (const proxy of proxies) {
    await rejects(rw.tokenizer(proxy), INVALID, "source");
    await rejects(rw.tokenizer({}, proxy), INVALID, "tokenizerConfig");
    await rejects(rw.tokenizer({ model: proxy }), "INVALID_FILE", "tokenizer.json model");
    await rejects(rw.tokenizer({ model: { vocab: proxy } }), "INVALID_FILE", "tokenizer.json model.vocab");
    raises(() => model.tokenizer.decode(proxy), INVALID, "tokens");
    raises(() => model.tokenizer.encode(proxy), INVALID, "text");
    raises(() => model.tokenizer.encode("a", proxy), INVALID, "options");
    raises(() => model.tokenizer.stream({ continues: proxy }), INVALID, "continues");
  }
});

test("options of models and chats", async () => {
  for (const proxy of proxies) {
    await rejects(rw.model(path, { rope: proxy }), INVALID, "rope");
    await rejects(rw.model("http://localhost/model.gguf", { headers: proxy }), INVALID, "headers");
    for (const name of ["tools", "now", "variables", "addGenerationPrompt"])
      await rejects(model.renderChat(chat, { [name]: proxy }), INVALID, name);
  }
});

test("a Worker", async () => {
  const workerModel = await workerRw.model(path);
  const session = await workerModel.session();
  for (const proxy of proxies) {
    await rejects(workerRw.tokenizer(proxy), INVALID, "options");
    await rejects(workerRw.tokenizer({}, proxy), INVALID, "options");
    await rejects(workerModel.tokenizer.decode(proxy), INVALID, "tokens");
    await rejects(workerModel.tokenizer.encode(proxy), INVALID, "options");
    await rejects(workerModel.tokenizer.idOf(proxy), INVALID, "options");
    await rejects(session.restore(proxy), INVALID, "bytes");
  }
  await session.dispose();
});
