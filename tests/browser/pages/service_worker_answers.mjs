// What the service workers of the tests answer.

import { workedExample } from "./worked_example.mjs";

/** Answers "load" with the worked example, and the address of a model with the text that it generates, or with the error. */
export function answerMessages(load) {
  const answer = async (question) => {
    const rw = await load({ build: "simd" });
    if (question === "load") return { build: rw.build, numbers: workedExample(rw) };
    const model = await rw.model(question, { contextLength: 64 });
    let text = "";
    for await (const piece of model.generate("The red ball is in the", { maxTokens: 4, temperature: 0 }))
      text += piece.text;
    model.dispose();
    return { text };
  };
  addEventListener("message", (event) =>
    event.waitUntil(
      answer(event.data)
        .catch(({ code, message }) => ({ code, message }))
        .then((result) => event.source.postMessage(result)),
    ),
  );
}
