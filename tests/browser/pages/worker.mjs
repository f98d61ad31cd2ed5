// A module worker that loads the package, rotates the worked example, and computes cases.

import { digests } from "./digest.mjs";
import { workedExample } from "./worked_example.mjs";

const violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
  violations.push(`${violatedDirective}: ${blockedURI}`),
);

async function answer({ entry, build, kinds }) {
  const { load } = await import(entry);
  const rw = await load({ build });
  return { build: rw.build, numbers: workedExample(rw), digests: await digests(rw, { kinds }), violations };
}

addEventListener("message", ({ data }) => answer(data).catch(String).then(postMessage));
