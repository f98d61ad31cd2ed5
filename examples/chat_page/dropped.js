/** The files of a drop; of a folder, those that lie directly in it. */
export async function filesOfDrop({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()); // which a drop gives only until it is over
  const dropped = [...files];
  if (!entries.some((entry) => entry?.isDirectory)) return dropped;
  const folders = await Promise.all(entries.filter((entry) => entry?.isDirectory).map(entriesOf));
  const inFolders = folders.flat().filter((entry) => entry.isFile);
  const alone = dropped.filter((_, i) => entries[i]?.isFile);
  return [
    ...alone,
    ...(await Promise.all(inFolders.map((entry) => new Promise((resolve, reject) => entry.file(resolve, reject))))),
  ];
}

async function entriesOf(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at most
    if (some.length === 0) return all;
    all.push(...some);
  }
}
