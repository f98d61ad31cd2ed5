// A session of a Worker that is disposed of while it is forked.
import assert from "node:assert/strict";
import test from "node:test";
import { WorkerSession } from "../../build/package/worker/worker_session.js";

/** Stands for the Worker: notes which of its objects were released. */
function newClient() {
  let fork;
  const forked = new Promise((resolve) => (fork = () => resolve({ id: 2, state: { length: 3 } })));
  const released = [];
  const server = { fork: () => forked };
  const client = {
    watch: () => undefined,
    send: (request) => request(server),
    release: (_, id) => Promise.resolve(void released.push(id)),
  };
  return { client, fork, released };
}

test("the fork is disposed of if its session is while it is made", async () => {
  const { client, fork, released } = newClient();
  const session = new WorkerSession(client, {}, { id: 1, state: { length: 3 } }, []);
  const forking = session.fork();
  await new Promise(setImmediate); // the call is on its way
  await session.dispose();
  fork();
  await assert.rejects(forking, { code: "DISPOSED", field: "session" });
  assert.deepEqual(released, [1, 2]);
});

test("otherwise it stays", async () => {
  const { client, fork, released } = newClient();
  const session = new WorkerSession(client, {}, { id: 1, state: { length: 3 } }, []);
  const forking = session.fork();
  fork();
  assert.equal((await forking).length, 3);
  await session.dispose();
  assert.deepEqual(released, [1]);
});
