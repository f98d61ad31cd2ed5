// `npm run docs`: the API's documentation, into docs/api/.
import { checkDocumentation } from "./check_lint.mjs";
import { ensureNodeModules } from "./npm_install.mjs";
import { runMain } from "./run.mjs";

await runMain(import.meta.url, async () => {
  await ensureNodeModules();
  await checkDocumentation();
  console.log("docs/api/index.html");
});
