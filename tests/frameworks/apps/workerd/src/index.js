// Workers of Cloudflare start no Workers, so the main entry does both.
import { load } from "ropewalk";

async function results(address) {
  const rw = await load();
  const rope = rw.rope({ head_dim: 4, rope_theta: 10000, pairing: "half" });
  const rotated = rope.rotate(Float32Array.of(1, 2, 3, 4), { layout: "thd", shape: [1, 1, 4], positions: 1 });
  const model = await rw.model(address);
  let text = "";
  for await (const piece of model.generate("the cat", { maxTokens: 20, seed: 7, ignoreEnd: true })) text += piece.text;
  model.dispose();
  return { rotated: Array.from(rotated, (value) => value.toFixed(6)).join(" "), text };
}

export default {
  async fetch(request) {
    const address = new URL(request.url).searchParams.get("model");
    if (address === null) return new Response("an app");
    return Response.json(await results(address));
  },
};
