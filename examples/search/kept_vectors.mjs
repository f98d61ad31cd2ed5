// Keeps vectors on the device, in IndexedDB.
const STORE = "vectors";

const finished = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function store(mode) {
  const request = indexedDB.open("ropewalk-search", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE);
  return (await finished(request)).transaction(STORE, mode).objectStore(STORE);
}

/** What the vectors depend on, as a short string: another model or other texts have another one. */
export async function keyOf(...parts) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(JSON.stringify(parts)));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The vectors kept under a key, or undefined. */
export const keptVectors = async (key) => finished((await store("readonly")).get(key));

/** Keeps vectors, and deletes those of other texts. */
export async function keepVectors(key, vectors) {
  const vectorStore = await store("readwrite");
  await finished(vectorStore.clear());
  await finished(vectorStore.put(vectors, key));
}
