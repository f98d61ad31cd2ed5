// Stand-ins for what an origin keeps files in, as far as the package uses them: with a quota, and with parts missing as in some engines.

const refuse = () => {
  throw new DOMException("the quota is exceeded", "QuotaExceededError");
};

const sizeOf = (kept) => [...kept.values()].reduce((sum, { size }) => sum + size, 0);

/** The private folder; `kept` is what lies in its one folder. */
export function fakeFolder({ quota = Infinity, streams = true, sync = true } = {}) {
  const kept = new Map();
  const put = (name, bytes) => {
    if (sizeOf(kept) + bytes.length > quota) refuse();
    kept.set(name, new Blob([bytes]));
  };
  const handleOf = (name) => ({
    getFile: async () => kept.get(name),
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
      if (!kept.has(name) && !create) throw new DOMException("none", "NotFoundError");
      return handleOf(name);
    },
    removeEntry: async (name) => void kept.delete(name),
    async *keys() {
      yield* kept.keys();
    },
  };
  let isMade = false;
  const getDirectoryHandle = async (name, { create = false } = {}) => {
    if (!isMade && !create) throw new DOMException("none", "NotFoundError");
    isMade = true;
    return folder;
  };
  return { kept, privateFolder: async () => ({ getDirectoryHandle }) };
}

/** The caches; `kept` is what the one cache holds. */
export function fakeCaches({ quota = Infinity } = {}) {
  const kept = new Map();
  const cache = {
    match: async (address) => (kept.has(address) ? new Response(kept.get(address)) : undefined),
    async put(address, response) {
      const blob = await response.blob();
      if (sizeOf(kept) + blob.size > quota) refuse();
      kept.set(address, blob);
    },
    delete: async (address) => kept.delete(address),
    keys: async () => Array.from(kept.keys(), (address) => new Request(address)),
  };
  let isMade = false;
  const open = async () => {
    isMade = true;
    return cache;
  };
  return { kept, caches: { open, has: async () => isMade } };
}
