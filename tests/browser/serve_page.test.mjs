// The page at the address of `ropewalk serve`, in each browser: the model's name, an answer as it comes, errors, and the token.
import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { BROWSERS, open, withBrowser } from "./browsers.mjs";
import { serving } from "../cli/server.mjs";

const model = fileURLToPath(new URL("../../examples/small_model", import.meta.url));

for (const name of BROWSERS)
  test(`the server's page, in ${name}`, () =>
    serving(
      ["--name", "stories", "--token", "secret"],
      ({ address }) =>
        withBrowser(name, async (browser) => {
          const { page, complaints } = await open(browser, `${address}/`);
          const waitFor = (id, pattern) =>
            page.waitForFunction(
              (id, source) => new RegExp(source).test(document.getElementById(id).textContent),
              {},
              id,
              pattern,
            );
          await waitFor("model", "token is missing");
          await page.$eval("#token", (input) => {
            input.value = "secret";
            input.dispatchEvent(new Event("change"));
          });
          await waitFor("model", "^stories$");
          assert.equal(await page.$eval("#stop", (button) => button.checkVisibility()), false);
          const send = (path, text) =>
            page.evaluate(
              (path, text) => {
                document.getElementById("path").value = path;
                document.getElementById("text").value = text;
                document.querySelector("[type=submit]").click();
              },
              path,
              text,
            );
          await send("v1/completions", "The red ball is in the garden. Where is the red ball? The red ball is in the");
          await waitFor("answer", "^ garden\\. [A-Z]");
          await send("v1/chat/completions", "hello");
          await waitFor("answer", "chat template");
          assert.equal(await page.$eval("#answer", ({ className }) => className), "wrong");
          // browsers log each answer that isn't 200
          assert.deepEqual(
            complaints.filter((text) => !/401|400|Failed to load resource/.test(text)),
            [],
          );
        }),
      {},
      [model],
    ));
