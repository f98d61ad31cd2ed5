// A session of a Worker that is disposed of while it is forked.
import assert from "node:assert/strict";
import test from "node:test";
import { RemoteObject } from "../../build/package/runtime/worker/remote_object.js";

/** Stands for the Worker: notes which of its objects were released. */
function newClient() {
  let fork;
  const forked = new Promise((resolve) => (fork = () => resolve({ value: { id: 2, properties: { length: 3 } } })));
  const released = [];
  const client = {
    thread: {},
    watch: () => undefined,
    call: (_, __, receive) => forked.then(receive),
    release: (_, id) => Promise.resolve(void released.push(id)),
  };
  const session = RemoteObject.create(client, "session", { id: 1, properties: { length: 3 } });
  return { session, fork, released };
}

test("the fork is disposed of if its session is while it is made", async () => {
  const { session, fork, released } = newClient();
  const forking = session.fork();
  await new Promise(setImmediate); // the call is on its way
  await session.dispose();
  fork();
  await assert.rejects(forking, { code: "DISPOSED", field: "session" });
  assert.deepEqual(released, [1, 2]);
});

test("otherwise it stays", async () => {
  const { session, fork, released } = newClient();
  const forking = session.fork();
  fork();
  assert.equal((await forking).length, 3);
  await session.dispose();
  assert.deepEqual(released, [1]);
});
