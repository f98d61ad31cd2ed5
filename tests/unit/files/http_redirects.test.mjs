// Redirects, between servers on two ports, which are two origins: the caller's headers stay with the origin that they were given for.
import assert from "node:assert/strict";
import test from "node:test";
import { expectError, expectIntact } from "../../files/reading.mjs";
import { bytes, field, open, server } from "../../files/served_model.mjs";
import { serve } from "../../files/server.mjs";

const given = { "x-api-key": "secret", Authorization: "Bearer secret", Cookie: "id=secret", "X-Custom": "secret" };
const names = Object.keys(given).map((name) => name.toLowerCase());
const sentTo = ({ requests }) => requests.map(({ headers }) => names.filter((name) => headers[name] !== undefined));

const redirecting = (to, status = 302) => [
  ({ response }) => (response.writeHead(status, { location: typeof to === "function" ? to() : to }).end(), true),
];

test("another origin gets none of the caller's headers, its own origin gets all", async (t) => {
  for (const status of [301, 302, 303, 307, 308]) {
    const other = await server(t);
    const first = await server(t, ...redirecting(`${other.url}m.gguf`, status));
    await expectIntact(await open(first, { headers: given }));
    assert.deepEqual(sentTo(first), [names, names], `${status}`);
    assert.deepEqual(sentTo(other), [[], []], `${status}`);
  }
});

test("a redirect within the origin keeps the headers", async (t) => {
  const served = await serve(t, { "m.gguf": bytes, "old.gguf": bytes }, ({ name, response }) => {
    if (name !== "old.gguf") return false;
    response.writeHead(302, { location: "/m.gguf" }).end();
    return true;
  });
  await expectIntact(await open({ ...served, url: served.url }, { headers: given }, "old.gguf"));
  assert.deepEqual(sentTo(served), [names, names, names, names]);
});

test("headers don't come back on the way through another origin", async (t) => {
  const served = await serve(t, { "m.gguf": bytes, "old.gguf": bytes }, ({ name, response }) => {
    if (name !== "old.gguf") return false;
    response.writeHead(302, { location: `${other.url}hop` }).end();
    return true;
  });
  const other = await serve(t, {}, ...redirecting(() => `${served.url}m.gguf`));
  await expectIntact(await open(served, { headers: given }, "old.gguf"));
  assert.deepEqual(sentTo(other), [[], []]);
  assert.deepEqual(sentTo(served), [names, [], names, []]);
});

test("endless redirects, and redirects to other schemes", async (t) => {
  const loop = await server(t, ...redirecting("/m.gguf"));
  await expectError(open(loop, { headers: given }), "NETWORK", field, /more than 20 redirects/);
  assert.equal(loop.requests.length, 21);
  for (const location of ["data:text/plain,x", "file:///etc/passwd", "http://["]) {
    const served = await server(t, ...redirecting(location));
    await expectError(open(served, { headers: given }), "NETWORK", field, /redirects to ".*isn't an http/);
  }
});

test("without headers of the caller, fetch follows redirects itself", async (t) => {
  const other = await server(t);
  const first = await server(t, ...redirecting(`${other.url}m.gguf`));
  await expectIntact(await open(first));
});

test("headers that can't be sent", async (t) => {
  const served = await server(t);
  const wrong = [
    [null, /object of strings/],
    ["x-api-key: 1", /object of strings/],
    [["x-api-key", "1"], /object of strings/],
    [{ "x-api-key": undefined }, /"x-api-key" must be a string \(got undefined\)/],
    [{ "x-api-key": 3 }, /must be a string \(got 3\)/],
    [{ "x-api-key": Symbol("s") }, /must be a string/],
    [{ "a b": "1" }, /"a b" isn't a valid header/],
    [{ a: "1\r\nb: 2" }, /isn't a valid header/],
    [{ range: "bytes=0-1" }, /can't have Range/],
  ];
  for (const [headers, message] of wrong)
    await expectError(open(served, { headers }), "INVALID_ARGUMENT", "headers", message);
  assert.equal(served.requests.length, 0);
  await expectIntact(await open(served, { headers: new Headers(given) }));
  assert.deepEqual(sentTo(served), [names, names]);
});
