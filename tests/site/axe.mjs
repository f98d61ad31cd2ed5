// What axe finds on a page of the site.
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const axe = await readFile(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");

/** Opens a page in a color scheme, so that axe can run in it. */
export async function openForAxe(browser, address, scheme) {
  const page = await browser.newPage();
  await page.setBypassCSP(true); // for axe alone
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(address, { waitUntil: "load" });
  return page;
}

/** The serious and critical faults of what a page shows now. */
export async function seriousFaults(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run({ resultTypes: ["violations"] });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`);
  });
}
