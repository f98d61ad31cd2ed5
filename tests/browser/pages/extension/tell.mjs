// Runs the model that the extension brings.

export async function tell(load) {
  const rw = await load({ build: "simd" });
  const model = await rw.model(new URL("model.gguf", location.href), { contextLength: 64 });
  let text = "";
  for await (const piece of model.generate("The red ball is in the", { maxTokens: 4, temperature: 0 }))
    text += piece.text;
  await model.dispose();
  return text;
}
