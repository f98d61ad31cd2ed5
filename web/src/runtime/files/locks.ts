// One thing at a time for each cached file, across tabs and Workers.

/** The part of the Web Locks API that this package uses. @internal */
export interface Locks {
  /** Runs `action` with a lock, which is free for readers while other readers have it. With null if it isn't free and `ifAvailable` says so. */
  request<T>(
    name: string,
    options: { ifAvailable: boolean; mode: "exclusive" | "shared" },
    action: (lock: object | null) => Promise<T>,
  ): Promise<T>;
}

/** What a lock belongs to. */
interface Locked {
  readonly locks?: Locks | undefined;
  readonly id: string;
}

/** Ends of the queues of this thread, for engines without Web Locks. */
const queues = new Map<string, Promise<unknown>>();

/** Locks within this thread only, none of which are shared. Pieces of two versions have different names, so other tabs can leave orphans but never mix versions. */
const threadLocks: Locks = {
  request(name, { ifAvailable }, action) {
    const before = queues.get(name);
    if (before !== undefined && ifAvailable) return action(null);
    const run = (): ReturnType<typeof action> => action({});
    const result = (before ?? Promise.resolve()).then(run, run);
    queues.set(name, result);
    const clear = (): void => {
      if (queues.get(name) === result) queues.delete(name);
    };
    result.then(clear, clear);
    return result;
  },
};

const nameOf = ({ id }: Locked, key: string): string => `ropewalk-models/${id}/${key}`;

/** Runs `action` while no other tab, Worker or call changes the record and pieces of a file. @internal */
export function withLock<T>(locked: Locked, key: string, action: () => Promise<T>): Promise<T> {
  return (locked.locks ?? threadLocks).request(nameOf(locked, key), { ifAvailable: false, mode: "exclusive" }, action);
}

/** Takes the same lock for a reader, and returns what gives it back; undefined if it isn't free. @internal */
export function takeReadLock(locked: Locked, key: string): Promise<(() => void) | undefined> {
  return new Promise((resolve, reject) => {
    const hold = async (lock: object | null): Promise<void> => {
      if (lock === null) resolve(undefined);
      else await new Promise<void>((giveBack) => resolve(giveBack));
    };
    const options = { ifAvailable: true, mode: "shared" } as const;
    (locked.locks ?? threadLocks).request(nameOf(locked, key), options, hold).catch(reject);
  });
}
