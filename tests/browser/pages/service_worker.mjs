// A service worker that loads the package. Service workers don't allow import().

import { load } from "../package/dist/index.js";
import { workedExample } from "./worked_example.mjs";

async function answer() {
  const rw = await load({ build: "simd" });
  return { build: rw.build, numbers: workedExample(rw) };
}

addEventListener("message", (event) =>
  event.waitUntil(
    answer()
      .catch(String)
      .then((result) => event.source.postMessage(result)),
  ),
);
