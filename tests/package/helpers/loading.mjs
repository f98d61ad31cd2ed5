// Fresh copies of load(), and a server of valid and invalid files.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

let copies = 0;

/** The `load` of a new copy of an entry, without any loaded module. */
export async function freshLoad(entry = "ropewalk") {
  const { load } = await import(`${import.meta.resolve(entry)}?copy=${copies++}`);
  return load;
}

/** The build under test, and its wasm file. */
export const build = process.env.ROPEWALK_BUILD ?? "simd";
export const wasmUrl = new URL(
  import.meta.resolve(build === "relaxed" ? "ropewalk/ropewalk.relaxed.wasm" : "ropewalk/ropewalk.wasm"),
);
export const wasmPath = fileURLToPath(wasmUrl);
export const wasmBytes = readFileSync(wasmPath);

/** Whether a loaded module rotates the worked example correctly. */
export function works(rw) {
  const rope = rw.rope({ head_dim: 4, pairing: "half" });
  const [x] = rope.rotate(Float32Array.of(1, 2, 3, 4), { layout: "thd", shape: [1, 1, 4], positions: 2 });
  rope.dispose();
  return Math.abs(x - -3.144039) < 1e-6;
}

/** Serves `answers`, path → { status, type, body } or a function of the response, while `use(origin, requests)` runs. */
export async function serving(answers, use) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    const answer = answers[request.url] ?? {
      status: 404,
      type: "text/html",
      body: "<!doctype html><title>404</title>",
    };
    if (typeof answer === "function") return answer(response);
    response.writeHead(answer.status ?? 200, { "content-type": answer.type ?? "application/wasm" }).end(answer.body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}`, requests);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
