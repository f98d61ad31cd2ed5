// One thing at a time for each cached file, across tabs and Workers.

/** The part of the Web Locks API that this package uses. @internal */
export interface Locks {
  request<T>(name: string, action: () => Promise<T>): Promise<T>;
}

/** Ends of the queues of this thread, for engines without Web Locks. */
const queues = new Map<string, Promise<unknown>>();

/** Locks within this thread only. Pieces of two versions have different names, so other tabs can leave orphans but never mix versions. */
const threadLocks: Locks = {
  request(name, action) {
    const result = (queues.get(name) ?? Promise.resolve()).then(action, action);
    queues.set(name, result);
    const clear = (): void => {
      if (queues.get(name) === result) queues.delete(name);
    };
    result.then(clear, clear);
    return result;
  },
};

/** Runs `action` while no other tab, Worker or call changes the record and pieces of a file. @internal */
export function withLock<T>(
  { locks, id }: { readonly locks?: Locks | undefined; readonly id: string },
  key: string,
  action: () => Promise<T>,
): Promise<T> {
  return (locks ?? threadLocks).request(`ropewalk-models/${id}/${key}`, action);
}
