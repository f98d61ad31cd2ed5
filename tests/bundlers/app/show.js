import { workedExample } from "./worked_example.js";

/** Loads a build, and says what it makes of the worked example. */
export async function rotateBy(load, options) {
  const rw = await load(options);
  return [rw.build, ...workedExample(rw)].join(" ");
}

/** Shows what promises by name come to. `globalThis.finished` tells the test when all are there. */
export function show(promises) {
  const list = document.querySelector("dl");
  const showOne = async ([name, promise]) => {
    const text = await Promise.resolve(promise).catch(String);
    list.append(
      Object.assign(document.createElement("dt"), { textContent: name }),
      Object.assign(document.createElement("dd"), { textContent: text }),
    );
  };
  globalThis.finished = Promise.all(Object.entries(promises).map(showOne));
}
