// decide() gives the same bits in Node and in each browser, in the page's thread and in a Worker: of a chat model, and of a decision checkpoint.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { checkpointFiles } from "../package/helpers/decision_heads.mjs";
import { casesOf } from "../package/helpers/random.mjs";
import { BROWSERS, open, runTask, withBrowser } from "./browsers.mjs";
import { serve } from "./server.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "./tarball.mjs";

const STATE = { text: "The rope broke – it was new.", days: [1, 17, 3] };
const QUESTIONS = [
  [
    "topic",
    {
      type: "choice",
      instructions: "What is it about?",
      criteria: [
        ["9", "a rope"],
        ["1", null],
        ["sail", "a sail"],
      ],
    },
  ],
  ["size", { type: "score", instructions: "How long?", criteria: ["short", "long", "very long"] }],
  ["wet", { type: "boolean", instructions: "Is it wet?" }],
];
const OPTIONS = { permutations: 3, temperature: 1.3 };

let folder, site, expected;

before(async () => {
  folder = await makeFolder();
  const unpacked = await unpackPackage(folder);
  const files = { chat: new Uint8Array(tinyModelBytes()) };
  const { gguf, ...others } = casesOf("decision_heads.json").find((one) => one.gguf !== undefined);
  files.head = new Uint8Array(await checkpointFiles({ gguf, ...others }).arrayBuffer());
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(folder, `${name}.gguf`), bytes);
  site = await serve({
    "/pages/": { folder: join(root, "tests", "browser", "pages") },
    "/package/": { folder: unpacked },
    "/models/": { folder },
  });
  const { load } = await import(pathToFileURL(join(unpacked, "dist", "index.node.js")));
  const rw = await load({ build: "simd" });
  expected = {};
  for (const name of Object.keys(files)) {
    const model = await rw.model(join(folder, `${name}.gguf`), { onWarning() {} });
    expected[name] = JSON.stringify(await model.decide(STATE, QUESTIONS, OPTIONS));
    model.dispose();
  }
});

after(async () => {
  await site?.close();
  await removeFolder(folder);
});

for (const name of BROWSERS)
  test(name, () =>
    withBrowser(name, async (browser) => {
      const { page } = await open(browser, `${site.origin}/pages/model/index.html`);
      for (const [model, text] of Object.entries(expected)) {
        const found = await runTask(page, "decisions", `/models/${model}.gguf`, STATE, QUESTIONS, OPTIONS);
        assert.deepEqual(found, [text, text]);
      }
    }),
  );
