// The app of examples/triage/: messages are sorted in a Worker, again when the questions change, and as decide() answers in Node.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "ropewalk";
import { open, withBrowser } from "../browser/browsers.mjs";
import { serve } from "../browser/server.mjs";
import { MESSAGES } from "../../examples/triage/messages.mjs";
import { APP_CSP, withBuiltApp } from "./apps.mjs";

const LONG_MS = 240_000;
const TEMPLATE = '{{ messages | map(attribute="content") | join(" ") }}\n';
const FIRST = 60; // that are waited for
const GROUPS = ["billing", "delivery", "app", "account", "praise", "other"];

test("200 messages that differ", () => {
  assert.equal(new Set(MESSAGES).size, 200);
});

/** The message, the group, and what the page says of both. */
const shown = (page) =>
  page.$$eval("section", (sections) =>
    sections.flatMap((section) =>
      [...section.querySelectorAll("li:not(.old)")].map((item) => [
        item.textContent,
        section.querySelector("h2").firstChild.textContent.trim(),
        item.title,
      ]),
    ),
  );

test("sorts messages as the questions are edited, in chromium", () =>
  withBuiltApp("triage", async (folder) => {
    const site = await serve({ "/": { folder, csp: APP_CSP } });
    try {
      await withBrowser("chromium", async (browser) => {
        const { page, complaints } = await open(browser, `${site.origin}/`);
        const sorted = (count) =>
          page.waitForFunction(
            (least) =>
              Number(document.getElementById("status").textContent.split(" ")[0]) >= least &&
              document.querySelectorAll("li:not(.old)").length >= least,
            { timeout: LONG_MS },
            count,
          );
        await sorted(FIRST);
        const all = await shown(page);
        assert.ok(all.length >= FIRST && all.every(([text]) => MESSAGES.includes(text)));
        assert.deepEqual(
          await page.$$eval("h2", (headings) => headings.map((h) => h.firstChild.textContent.trim())),
          GROUPS,
        );

        // as in Node, with the same bits
        const questions = await page.evaluate(() => ({
          criteria: document
            .getElementById("options")
            .value.split("\n")
            .map((line) => line.split(": ")),
          topic: document.getElementById("topic").value,
          urgent: document.getElementById("urgent").value,
        }));
        const rw = await load();
        const model = await rw.model(import.meta.resolve("ropewalk/small_model.gguf"), {
          chatTemplate: TEMPLATE,
          contextLength: 2048,
          onWarning() {},
        });
        for (const message of [MESSAGES[0], MESSAGES[37]]) {
          const { answers } = await model.decide(message, {
            topic: { type: "choice", instructions: questions.topic, criteria: questions.criteria },
            urgent: { type: "boolean", instructions: questions.urgent },
          });
          const { choice, probabilities } = answers.topic;
          const title = `${choice} ${probabilities[choice].toFixed(2)}, first ${answers.urgent.probability.toFixed(2)}`;
          assert.deepEqual(all.find(([text]) => text === message).slice(1), [choice, title]);
        }
        model.dispose();

        // the new group is there, and the others are pale until they are sorted again
        await page.$eval("#options", (field) => (field.value = "rope: about a rope\nnot: not about a rope"));
        await page.type("#options", " ");
        await page.waitForFunction(() => document.querySelectorAll("section").length === 2, { timeout: LONG_MS });
        await sorted(10);
        assert.ok((await shown(page)).every(([, group]) => group === "rope" || group === "not"));

        // a group named twice is said, and nothing is sorted
        await page.$eval("#options", (field) => (field.value = "rope\nrope"));
        await page.type("#options", " ");
        await page.waitForFunction(() => document.getElementById("problem").textContent !== "", { timeout: LONG_MS });
        assert.match(
          await page.$eval("#problem", (p) => p.textContent),
          /questions\.topic\.criteria: has "rope" twice/,
        );
        assert.deepEqual(complaints, []);
      });
    } finally {
      await site.close();
    }
  }));
