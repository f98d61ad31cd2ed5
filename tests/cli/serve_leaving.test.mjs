// Clients that leave or don't read give their place back, and the server ends when it is told to.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import test from "node:test";
import { post, serving } from "./server.mjs";

const messages = [{ role: "user", content: "the rope" }];
const PLACES = 4; // the default of --parallel
const LONG = { messages, max_tokens: 3900, logit_bias: { 0: -100, 2: -100 }, stream: true };
const SHORT = { messages, max_tokens: 2 };

/** A request as it is written to a socket. */
function written(address, body) {
  const text = JSON.stringify(body);
  return `POST /v1/chat/completions HTTP/1.1\r\nHost: ${new URL(address).host}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

async function socketTo(address) {
  const { port, hostname } = new URL(address);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined); // the server may end the connection
  await once(socket, "connect");
  return socket;
}

/** The status of a short request: it needs a place. */
async function statusOfAnother(address) {
  const response = await post(address, "/v1/chat/completions", SHORT);
  await response.arrayBuffer();
  return response.status;
}

/** Waits for the beginning of an answer. */
const answered = (socket) => once(socket, "data");

test("streams that wait on a connection that closes end, and SIGTERM ends the server", () =>
  serving(["--context", "4096"], async ({ address, child, closed }) => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < PLACES; i++) {
        const socket = await socketTo(address);
        socket.write(written(address, LONG) + written(address, LONG)); // the second waits behind the first
        await answered(socket);
        socket.destroy();
      }
      assert.equal(await statusOfAnother(address), 200);
    }
    child.kill("SIGTERM");
    const [code] = await closed;
    assert.equal(code, 0);
  }));

test("clients that don't read lose their place when another waits for it", () =>
  serving(["--context", "4096"], async ({ address }) => {
    const sockets = [];
    for (let i = 0; i < PLACES; i++) {
      const socket = await socketTo(address);
      socket.write(written(address, { ...LONG, logprobs: true, top_logprobs: 20 }));
      await answered(socket);
      socket.pause();
      sockets.push(socket);
    }
    assert.equal(await statusOfAnother(address), 200);
    for (const socket of sockets) socket.destroy();
    assert.equal(await statusOfAnother(address), 200);
  }));

test("a server that is told to end doesn't wait for clients that don't read", () =>
  serving(["--context", "4096"], async ({ address, child, closed }) => {
    const socket = await socketTo(address);
    socket.write(written(address, { ...LONG, logprobs: true, top_logprobs: 20 }) + written(address, LONG));
    await answered(socket);
    socket.pause();
    child.kill("SIGINT");
    const [code] = await closed;
    assert.equal(code, 0);
    socket.destroy();
  }));
