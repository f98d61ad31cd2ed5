// Prints Lighthouse's scores of the site's pages on its throttled phone: node scripts/site/lighthouse.mjs [page …]. The site must be built.
import lighthouse from "lighthouse";
import { withBrowser } from "../../tests/browser/browsers.mjs";
import { runMain } from "../run.mjs";
import { siteFolder } from "../site.mjs";
import { serveSite } from "./serve.mjs";

const PAGES = ["index.html", "doctor/index.html", "models/index.html", "arena/index.html", "guide/index.html"];
const CATEGORIES = ["performance", "accessibility", "best-practices"];

await runMain(import.meta.url, async (pages) => {
  const { server, address } = await serveSite(siteFolder);
  for (const page of pages.length > 0 ? pages : PAGES) {
    await withBrowser("chromium", async (browser) => {
      const port = Number(new URL(browser.wsEndpoint()).port);
      const { lhr } = await lighthouse(address + page, { port, onlyCategories: CATEGORIES });
      const scores = CATEGORIES.map((name) => `${name} ${Math.round(lhr.categories[name].score * 100)}`);
      const times = [
        "first-contentful-paint",
        "largest-contentful-paint",
        "total-blocking-time",
        "cumulative-layout-shift",
      ];
      console.log(
        `${page}: ${scores.join(", ")} (${times.map((id) => `${id} ${lhr.audits[id].displayValue}`).join(", ")})`,
      );
      const isLow = ({ score, scoreDisplayMode }) =>
        score !== null && score < 0.9 && scoreDisplayMode !== "informative";
      for (const { id, title, displayValue = "" } of Object.values(lhr.audits).filter(isLow))
        console.log(`  ${id}: ${title} ${displayValue}`);
    });
  }
  server.close();
});
