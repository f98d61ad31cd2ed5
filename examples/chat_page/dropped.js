/** The files of a drop. Of a folder, those directly in it. */
export async function filesOfDrop({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()); // only available during the drop event
  const dropped = [...files];
  if (!entries.some((entry) => entry?.isDirectory)) return dropped;
  const folders = await Promise.all(entries.filter((entry) => entry?.isDirectory).map(entriesOf));
  const inFolders = folders.flat().filter((entry) => entry.isFile);
  const single = dropped.filter((_, i) => entries[i]?.isFile);
  return [
    ...single,
    ...(await Promise.all(inFolders.map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject))))),
  ];
}

async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // returns at most 100 entries per call
    if (some.length === 0) return all;
    all.push(...some);
  }
}
