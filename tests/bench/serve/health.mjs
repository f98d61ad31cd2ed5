// How long `ropewalk serve` takes to answer /health: idle, and with 300 connections while four texts are generated. Prints percentiles in ms.
//
//   node tests/bench/serve/health.mjs
import { once } from "node:events";
import { connect } from "node:net";
import { post, serving } from "../../cli/server.mjs";

const CONNECTIONS = 300;
const ASKED = 200;
const REQUEST = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function report(title, times) {
  const sorted = times.sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1).padStart(7);
  console.log(`${title.padEnd(52)} p50 ${at(0.5)}  p90 ${at(0.9)}  p99 ${at(0.99)}  max ${at(1)}`);
}

/** Asks on one connection, again and again. */
async function ask(socket, count) {
  const times = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    socket.write(REQUEST);
    await once(socket, "data");
    times.push(performance.now() - start);
    await pause(5);
  }
  return times;
}

await serving(["--context", "4096"], async ({ address }) => {
  const { port, hostname } = new URL(address);
  const open = async () => {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return socket;
  };
  const asking = await open();
  report("idle", await ask(asking, ASKED));

  const leaving = new AbortController();
  const endless = { prompt: "the rope", max_tokens: 4000, stream: true, logit_bias: { 0: -100, 2: -100 } };
  const generate = async () => {
    while (!leaving.signal.aborted) {
      const { body } = await post(address, "/v1/completions", endless, {}, leaving.signal);
      for await (const _ of body);
    }
  };
  const generating = Array.from({ length: 4 }, () => generate().catch(() => undefined));
  report("four texts", await ask(asking, ASKED));

  const sockets = await Promise.all(Array.from({ length: CONNECTIONS }, open));
  report(`four texts, ${CONNECTIONS} connections`, await ask(asking, ASKED));

  let isBusy = true;
  const busy = sockets.map(async (socket) => {
    while (isBusy) {
      await pause(1000 * Math.random());
      await ask(socket, 1);
    }
  });
  report(`four texts, ${CONNECTIONS} connections that ask twice a second`, await ask(asking, ASKED));
  isBusy = false;
  await Promise.all(busy);

  const bursts = [];
  for (let i = 0; i < 5; i++) {
    const fresh = async () => {
      const start = performance.now();
      const socket = await open();
      await ask(socket, 1);
      socket.destroy();
      return performance.now() - start;
    };
    bursts.push(...(await Promise.all(Array.from({ length: CONNECTIONS / 5 }, fresh))));
  }
  report(`four texts, ${CONNECTIONS / 5} new connections at once`, bursts);
  leaving.abort();
  await Promise.all(generating);
  for (const socket of [asking, ...sockets]) socket.destroy();
});
