// Many requests at the server, most of which end badly: afterwards its heap, handles, bytes and places are as they were. ROPEWALK_REQUESTS says how
// many (npm test -- soak: 10,000), ROPEWALK_SEED which.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { load } from "ropewalk/worker";
import { createApp } from "../../../build/package/apps/cli/serve/app.js";
import { hostCheck } from "../../../build/package/apps/cli/serve/hosts.js";
import { listen } from "../../../build/package/apps/cli/serve/listen.js";
import { tinyModelBytes } from "../../../examples/make_tiny_model.mjs";
import { post } from "../server.mjs";

const REQUESTS = Number(process.env.ROPEWALK_REQUESTS ?? 400);
const SEED = Number(process.env.ROPEWALK_SEED ?? 20261127);
const CLIENTS = 12;
const PLACES = 4;
const LIMITS = { maxBody: 100_000, maxBodies: 400_000, parallel: PLACES, maxQueue: 16 };

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

function random(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const prompt = "the rope is long";
const endless = { prompt, max_tokens: 900, logit_bias: { 0: -100, 2: -100 } };

/** Requests by kind. Each settles when its client is done, and none fails. */
const KINDS = {
  health: (to) => fetch(`${to}/health`).then((response) => response.text()),
  models: (to) => fetch(`${to}/v1/models/none`).then((response) => response.text()),
  completion: (to, below) => text(post(to, "/v1/completions", { prompt, max_tokens: 1 + below(8), n: 1 + below(3) })),
  stream: (to, below) => text(post(to, "/v1/completions", { prompt, max_tokens: 1 + below(8), stream: true })),
  embedding: (to, below) => text(post(to, "/v1/embeddings", { input: Array(1 + below(20)).fill(prompt) })),
  "not JSON": (to) => text(post(to, "/v1/completions", "{")),
  "wrong field": (to) => text(post(to, "/v1/completions", { prompt, none: 1 })),
  "too long": (to) => text(post(to, "/v1/completions", { prompt: "rope ".repeat(4000) })),
  "too large": (to) => text(post(to, "/v1/completions", "a".repeat(200_000))),
  "left while it is read": (to, below) => left(to, { ...endless, prompt: "rope ".repeat(100) }, below(20)),
  "left while it waits or runs": (to, below) => left(to, endless, below(120)),
  "left in a stream": async (to, below) => {
    const controller = new AbortController();
    const response = await post(to, "/v1/completions", { ...endless, stream: true }, {}, controller.signal);
    const reader = response.body.getReader();
    for (let chunks = below(6); chunks > 0; chunks--) await reader.read();
    controller.abort();
  },
  "half a body": async (to, below) => {
    const socket = await written(to, requestOf(to, endless).slice(0, 150));
    await sleep(below(20));
    socket.destroy();
  },
  "two streams on a connection that closes": async (to, below) => {
    const stream = requestOf(to, { ...endless, stream: true });
    const socket = await written(to, stream + stream);
    await Promise.race([once(socket, "data"), sleep(below(60))]);
    socket.destroy();
  },
  "a stream that isn't read": async (to, below) => {
    const socket = await written(to, requestOf(to, { ...endless, stream: true, logprobs: 20 }));
    socket.pause();
    await sleep(below(60));
    socket.destroy();
  },
  "not a request": async (to) => {
    const socket = await written(to, "nonsense\r\n\r\n");
    await Promise.race([once(socket, "data"), sleep(20)]);
    socket.destroy();
  },
};

const text = async (response) => (await response).text();

async function left(to, body, after) {
  const controller = new AbortController();
  const answer = text(post(to, "/v1/completions", body, {}, controller.signal)).catch(() => undefined);
  await Promise.race([answer, sleep(after)]);
  controller.abort();
  await answer;
}

function requestOf(to, body) {
  const json = JSON.stringify(body);
  return `POST /v1/completions HTTP/1.1\r\nHost: ${new URL(to).host}\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`;
}

async function written(to, request) {
  const { port, hostname } = new URL(to);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(request);
  return socket;
}

/** Sends requests of all kinds from several clients. */
async function send(to, count, below) {
  const kinds = Object.values(KINDS);
  let sent = 0;
  const client = async () => {
    while (sent++ < count) await kinds[below(kinds.length)](to, below);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}

/** As many streams as there are places begin at the same time. */
async function takeAllPlaces(to) {
  const controller = new AbortController();
  const streams = await Promise.all(
    Array.from({ length: PLACES }, () =>
      post(to, "/v1/completions", { ...endless, stream: true }, {}, controller.signal),
    ),
  );
  await Promise.all(streams.map(({ body }) => body.getReader().read()));
  controller.abort();
  return streams.map(({ status }) => status);
}

/** Open handles by kind, without timers of the client. */
function handles() {
  const counts = {};
  for (const name of process.getActiveResourcesInfo())
    if (!/Timeout|Immediate/.test(name)) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** What the process has when nothing is asked of it. Connections that are kept alive close after five seconds. */
async function settled(idle) {
  for (let waited = 0; idle !== undefined && waited < 8000; waited += 100) {
    if (JSON.stringify(handles()) === JSON.stringify(idle.handles)) break;
    await sleep(100);
  }
  for (let i = 0; i < 3; i++) {
    await sleep(20);
    collect();
  }
  return { handles: handles(), heap: process.memoryUsage().heapUsed };
}

test(`${REQUESTS} requests with aborts leave heap, handles and places as they were`, async () => {
  const rw = await load({ threads: 1 });
  const model = await rw.model(tinyModelBytes(), { contextLength: 1024 });
  const app = createApp({ ...LIMITS, token: undefined, origins: [], isHost: hostCheck(true, undefined), name: "tiny" });
  app.use(model);
  const server = await listen(app, "127.0.0.1", 0, 100);
  const idle = { handles: handles() };
  const below = random(SEED);
  await send(server.address, 150, below); // what is compiled and kept once
  await takeAllPlaces(server.address);
  const before = { ...(await settled()), ...idle, memory: await rw.memoryBytes };
  await send(server.address, REQUESTS, below);
  assert.deepEqual(await takeAllPlaces(server.address), Array(PLACES).fill(200));
  const after = { ...(await settled(before)), memory: await rw.memoryBytes };
  const grown = after.heap - before.heap;
  if (REQUESTS > 1000) console.log(JSON.stringify({ requests: REQUESTS, seed: SEED, before, after, grown }));
  assert.deepEqual(after.handles, before.handles);
  assert.equal(app.heldBytes(), 0);
  assert.ok(grown < 4_000_000 + 20 * REQUESTS, `the heap has ${grown} bytes more`);
  assert.ok(after.memory <= before.memory * 1.1, `wasm has ${before.memory}, then ${after.memory} bytes`);
  await app.close();
  await server.close();
  await rw.dispose();
});
