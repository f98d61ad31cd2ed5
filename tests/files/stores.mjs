// Fake OPFS and Cache API for Node, which behave as those of browsers do when the quota is exceeded, and with the parts missing that some engines lack.

/** What is left of a tab that was closed: none of its calls come back. */
export class ClosedTab extends Error {}

const refuse = () => {
  throw new DOMException("the quota is exceeded", "QuotaExceededError");
};

/** Bytes that fit, and calls that change something until the tab is closed. */
function limits(stored, { quota, closesAt }) {
  const used = () => [...stored.values()].reduce((sum, { size }) => sum + size, 0);
  return {
    /** Calls until the tab is closed: it is, below 0. */
    closesAt,
    left: () => quota - used(),
    change() {
      if (--this.closesAt < 0) throw new ClosedTab();
    },
  };
}

/** What sync access handles lock: a file that one has open can't be moved or removed, and only readers share it. */
function fileLocks() {
  const readers = new Map();
  const locked = () => {
    throw new DOMException("the file is open", "NoModificationAllowedError");
  };
  return {
    check: (name) => void (readers.has(name) && locked()),
    /** Returns a function that closes the file. */
    open(name, mode) {
      const count = readers.get(name) ?? 0;
      if (count > 0 && (mode !== "read-only" || count === Infinity)) locked();
      readers.set(name, mode === "read-only" ? count + 1 : Infinity);
      return () => {
        const left = mode === "read-only" ? readers.get(name) - 1 : 0;
        if (left === 0) readers.delete(name);
        else readers.set(name, left);
      };
    },
  };
}

/**
 * A fake OPFS. `stored` has the files of its one folder. As in browsers, a file exists, empty, before its first byte is written; a stream puts its
 * bytes there when it is closed, and a sync access handle writes what fits.
 * @param knowsModes - whether several sync access handles can read a file at once
 * @param closesAt - how many calls that change something come back before the tab is closed; later ones throw ClosedTab
 * @param left - the contents at the beginning, such as those of a tab that was closed
 */
export function fakeOpfs({
  quota = Infinity,
  closesAt = Infinity,
  streams = true,
  sync = true,
  move = true,
  knowsModes = true,
  left = [],
} = {}) {
  const stored = new Map(left);
  const limit = limits(stored, { quota, closesAt });
  const locks = fileLocks();
  const put = (name, bytes) => {
    const before = stored.get(name)?.size ?? 0;
    if (bytes.length - before > limit.left()) refuse();
    stored.set(name, new Blob([bytes]));
  };
  const handleOf = (given) => {
    let name = given;
    return {
      getFile: async () => stored.get(name) ?? Promise.reject(new DOMException("none", "NotFoundError")),
      ...(streams && {
        async createWritable() {
          let pending = new Uint8Array(0);
          return {
            async write(bytes) {
              limit.change();
              if (bytes.length > limit.left()) refuse();
              pending = bytes.slice();
            },
            async close() {
              limit.change();
              put(name, pending);
            },
            abort: async () => {},
          };
        },
      }),
      ...(move && {
        async move(other) {
          limit.change();
          locks.check(name);
          locks.check(other);
          stored.set(other, stored.get(name));
          stored.delete(name);
          name = other;
        },
      }),
      ...(sync && {
        async createSyncAccessHandle({ mode = "readwrite" } = {}) {
          const close = locks.open(name, knowsModes ? mode : "readwrite");
          const before = new Uint8Array(await stored.get(name).arrayBuffer());
          return {
            getSize: () => stored.get(name).size,
            read(bytes, { at }) {
              const read = before.subarray(at, at + bytes.length);
              bytes.set(read);
              return read.length;
            },
            truncate() {
              limit.change();
              stored.set(name, new Blob([]));
            },
            write(bytes) {
              limit.change();
              const fitting = bytes.slice(0, Math.min(bytes.length, limit.left()));
              put(name, fitting);
              return fitting.length;
            },
            flush() {},
            close,
          };
        },
      }),
    };
  };
  const folder = {
    async getFileHandle(name, { create = false } = {}) {
      if (!stored.has(name)) {
        if (!create) throw new DOMException("none", "NotFoundError");
        limit.change();
        stored.set(name, new Blob([]));
      }
      return handleOf(name);
    },
    async removeEntry(name) {
      limit.change();
      locks.check(name);
      if (!stored.delete(name)) throw new DOMException("none", "NotFoundError");
    },
    async *keys() {
      yield* [...stored.keys()];
    },
  };
  let isMade = stored.size > 0;
  const getDirectoryHandle = async (name, { create = false } = {}) => {
    if (!isMade && !create) throw new DOMException("none", "NotFoundError");
    isMade = true;
    return folder;
  };
  return { stored, limit, opfsRoot: async () => ({ getDirectoryHandle }) };
}

/** A fake CacheStorage. `stored` has the contents of its one cache. */
export function fakeCaches({ quota = Infinity, closesAt = Infinity, left = [] } = {}) {
  const stored = new Map(left);
  const limit = limits(stored, { quota, closesAt });
  const cache = {
    match: async (address) => (stored.has(address) ? new Response(stored.get(address)) : undefined),
    async put(address, response) {
      limit.change();
      const blob = await response.blob();
      if (blob.size - (stored.get(address)?.size ?? 0) > limit.left()) refuse();
      stored.set(address, blob);
    },
    async delete(address) {
      limit.change();
      return stored.delete(address);
    },
    keys: async () => Array.from(stored.keys(), (address) => new Request(address)),
  };
  let isMade = stored.size > 0;
  const open = async () => {
    isMade = true;
    return cache;
  };
  return { stored, limit, caches: { open, has: async () => isMade } };
}
