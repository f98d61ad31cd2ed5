// `npm run docs`: writes the API documentation to docs/api/.

import { checkDocumentation } from "./check/lint.mjs";
import { runMain } from "./run.mjs";
import { setUp } from "./setup.mjs";

await runMain(import.meta.url, async () => {
  await setUp(["site"]);
  await checkDocumentation();
  console.log("docs/api/index.html");
});
