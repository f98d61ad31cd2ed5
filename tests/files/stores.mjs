// Fake OPFS and Cache API for Node, with a quota, and with the parts missing that some engines lack.

const refuse = () => {
  throw new DOMException("the quota is exceeded", "QuotaExceededError");
};

const sizeOf = (stored) => [...stored.values()].reduce((sum, { size }) => sum + size, 0);

/** A fake OPFS. `stored` has the files of its one folder. */
export function fakeOpfs({ quota = Infinity, streams = true, sync = true } = {}) {
  const stored = new Map();
  const put = (name, bytes) => {
    if (sizeOf(stored) + bytes.length > quota) refuse();
    stored.set(name, new Blob([bytes]));
  };
  const handleOf = (name) => ({
    getFile: async () => stored.get(name),
    ...(streams && {
      async createWritable() {
        let pending;
        return {
          write: async (bytes) => void (pending = bytes.slice()),
          close: async () => put(name, pending),
          abort: async () => {},
        };
      },
    }),
    ...(sync && {
      createSyncAccessHandle: async () => ({
        truncate() {},
        write(bytes) {
          put(name, bytes.slice());
          return bytes.length;
        },
        flush() {},
        close() {},
      }),
    }),
  });
  const folder = {
    async getFileHandle(name, { create = false } = {}) {
      if (!stored.has(name) && !create) throw new DOMException("none", "NotFoundError");
      return handleOf(name);
    },
    removeEntry: async (name) => void stored.delete(name),
    async *keys() {
      yield* stored.keys();
    },
  };
  let isMade = false;
  const getDirectoryHandle = async (name, { create = false } = {}) => {
    if (!isMade && !create) throw new DOMException("none", "NotFoundError");
    isMade = true;
    return folder;
  };
  return { stored, opfsRoot: async () => ({ getDirectoryHandle }) };
}

/** A fake CacheStorage. `stored` has the contents of its one cache. */
export function fakeCaches({ quota = Infinity } = {}) {
  const stored = new Map();
  const cache = {
    match: async (address) => (stored.has(address) ? new Response(stored.get(address)) : undefined),
    async put(address, response) {
      const blob = await response.blob();
      if (sizeOf(stored) + blob.size > quota) refuse();
      stored.set(address, blob);
    },
    delete: async (address) => stored.delete(address),
    keys: async () => Array.from(stored.keys(), (address) => new Request(address)),
  };
  let isMade = false;
  const open = async () => {
    isMade = true;
    return cache;
  };
  return { stored, caches: { open, has: async () => isMade } };
}
