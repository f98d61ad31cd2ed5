import { workedExample } from "./worked_example.js";

/** Loads a build, and returns its name and its result for the worked example, as text. */
export async function rotateBy(load, options) {
  const rw = await load(options);
  return [rw.build, ...workedExample(rw)].join(" ");
}

/** Shows the result or error of each promise, by name. The test waits for `globalThis.finished`. */
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
