// What `ropewalk serve` refuses: hosts of other sites, more connections and bytes than it holds, and what isn't a request.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import test from "node:test";
import { Bodies } from "../../../build/package/apps/cli/serve/bodies.js";
import { hostCheck, readHosts } from "../../../build/package/apps/cli/serve/hosts.js";
import { ropewalk } from "../program.mjs";
import { post, serving } from "../server.mjs";

const messages = [{ role: "user", content: "the rope" }];
const SHORT = { messages, max_tokens: 1 };

/** The status of a request that names a host. */
async function statusFor(address, host, path = "/v1/models") {
  const { port } = new URL(address);
  const asked = request({ host: "127.0.0.1", port, path, headers: { Host: host } });
  asked.end();
  const [response] = await once(asked, "response");
  response.resume();
  return response.statusCode;
}

async function socketTo(address, text = "") {
  const { port } = new URL(address);
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined); // the server may end the connection
  await once(socket, "connect");
  if (text !== "") socket.write(text);
  return socket;
}

/** A request whose body doesn't come to its end. */
const begun = (bytes) =>
  `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}\r\n\r\n${"a".repeat(bytes)}`;

/** An error as OpenAI's clients read it. */
function checkError({ error }, type, code) {
  assert.deepEqual(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  assert.ok(error.message.length > 10);
  assert.deepEqual([error.type, error.code, error.param], [type, code, null]);
}

/** Waits until `condition` resolves to true. */
async function until(condition) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

test("a page of another site can't ask by its own name: with one machine, and with --allowed-hosts", async () => {
  await serving([], async ({ address }) => {
    for (const host of ["localhost:99", "127.0.0.1", "[::1]:1"])
      assert.equal(await statusFor(address, host), 200, host);
    for (const host of ["evil.example", "127.0.0.1.evil.example", "198.51.100.1", "localhost.evil.example:80"])
      for (const path of ["/v1/models", "/health"]) assert.equal(await statusFor(address, host, path), 403, host);
  });
  await serving(["--host", "0.0.0.0", "--allowed-hosts", "models.example, Box.local"], async ({ address, printed }) => {
    for (const host of ["models.example:8080", "box.local", "203.0.113.7:80", "[fe80::1]", "localhost"])
      assert.equal(await statusFor(address, host), 200, host);
    for (const host of ["evil.example", "a.models.example", "models.example.evil"])
      assert.equal(await statusFor(address, host), 403, host);
    assert.match(printed(), /every machine that reaches this address can use the model; set a token with --token/);
  });
  await serving(["--host", "0.0.0.0"], async ({ address, printed }) => {
    assert.equal(await statusFor(address, "any.example"), 200);
    assert.match(printed(), /any web page that is open on one of them: .*DNS rebinding.*--allowed-hosts/);
  });
});

test("the list of --allowed-hosts is checked", async () => {
  assert.deepEqual(readHosts("a.example,BOX,::1, 198.51.100.1"), ["a.example", "box", "[::1]", "198.51.100.1"]);
  for (const wrong of ["", "a.example,", "*", "http://a.example", "a.example:80", "a b", "a/b", "user@a"])
    assert.equal(readHosts(wrong), undefined, wrong);
  const { status, stderr } = await ropewalk(["serve", "model.gguf", "--allowed-hosts", "http://a.example"]);
  assert.equal(status, 2);
  assert.match(stderr, /host names without ports/);
  assert.ok(!hostCheck(true, undefined)(undefined));
});

test("bodies of all requests together have a limit, and leave it when their connections close", () =>
  serving(["--max-body", "1024", "--max-bodies", "2048"], async ({ address }) => {
    const sockets = [];
    for (let i = 0; i < 2; i++) sockets.push(await socketTo(address, begun(1_000_000)));
    const large = { ...SHORT, user: "a".repeat(300_000) };
    let refused;
    await until(async () => {
      refused = await post(address, "/v1/chat/completions", large);
      if (refused.status !== 503) await refused.arrayBuffer();
      return refused.status === 503;
    });
    checkError(await refused.json(), "server_error", "overloaded");
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await post(address, "/v1/chat/completions", large)).status === 200);
    const tooLarge = await post(address, "/v1/chat/completions", { ...SHORT, user: "a".repeat(1_100_000) });
    assert.equal(tooLarge.status, 413);
    checkError(await tooLarge.json(), "invalid_request_error", "request_too_large");
  }));

test("connections have a limit, and health is answered beyond it", () =>
  serving(["--max-connections", "3"], async ({ address }) => {
    const sockets = [];
    for (let i = 0; i < 4; i++) sockets.push(await socketTo(address));
    const get = "HTTP/1.1\r\nHost: localhost\r\n\r\n";
    sockets[3].write(`GET /health ${get}`);
    assert.match(String((await once(sockets[3], "data"))[0]), /^HTTP\/1\.1 200 [^]*\{"status":"ok"\}$/);
    sockets[3].write(`GET /v1/models ${get}`);
    const [answer] = await once(sockets[3], "data");
    assert.match(String(answer), /^HTTP\/1\.1 503 .*\r\n/);
    checkError(JSON.parse(String(answer).split("\r\n\r\n")[1]), "server_error", "too_many_connections");
    sockets[1].write(`GET /v1/models ${get}`);
    assert.match(String((await once(sockets[1], "data"))[0]), /^HTTP\/1\.1 200 /);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await fetch(`${address}/v1/models`)).status === 200);
  }));

test("what isn't a request gets an error with its fields", () =>
  serving([], async ({ address }) => {
    for (const [text, status, code] of [
      ["nonsense\r\n\r\n", 400, null],
      [`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431, "headers_too_large"],
    ]) {
      const socket = await socketTo(address, text);
      const [answer] = await once(socket, "data");
      const [head, body] = String(answer).split("\r\n\r\n");
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), head);
      checkError(JSON.parse(body), "invalid_request_error", code);
    }
  }));

test("a body that doesn't come in time is let go", async () => {
  const bodies = new Bodies({ largest: 100, together: 150, time: 50 });
  const incoming = () => Object.assign(new PassThrough(), { headers: {} });
  const [slow, whole, lost, large] = [incoming(), incoming(), incoming(), incoming()];
  slow.write("a".repeat(60));
  const refused = await bodies.read(slow);
  assert.equal(refused.status, 408);
  checkError(refused.body, "invalid_request_error", "request_timeout");
  assert.equal(bodies.held, 0);
  whole.end("b".repeat(80));
  const read = await bodies.read(whole);
  assert.deepEqual([String(read.bytes).length, bodies.held], [80, 80]);
  lost.write("c".repeat(10));
  const losing = bodies.read(lost);
  setImmediate(() => lost.destroy());
  assert.equal((await losing).status, 400);
  large.write("d".repeat(71));
  assert.equal((await bodies.read(large)).status, 503);
  assert.equal(bodies.held, 80);
  read.release();
  read.release();
  assert.equal(bodies.held, 0);
});

test("a path that isn't there: the one with /v1, or all", () =>
  serving([], async ({ address }) => {
    const messageOf = async (path) => (await (await post(address, path, SHORT)).json()).error.message;
    assert.equal(
      await messageOf("/chat/completions"),
      "POST /chat/completions isn't a path of this server; did you mean /v1/chat/completions?",
    );
    assert.match(await messageOf("/v1/responses"), /; it has \/, \/v1\/chat\/completions, .*, \/v1\/models\/:id$/);
  }));
