/** The files of a drop. Of a folder, those directly in it. */
export async function filesOfDrop({ items, files }: DataTransfer): Promise<File[]> {
  const entries = [...items].map((item) => item.webkitGetAsEntry()); // only available during the drop event
  const dropped = [...files];
  const folders = entries.filter((entry) => entry?.isDirectory === true) as FileSystemDirectoryEntry[];
  if (folders.length === 0) return dropped;
  const inFolders = (await Promise.all(folders.map(entriesOf))).flat().filter((entry) => entry.isFile);
  const single = dropped.filter((_, i) => entries[i]?.isFile === true);
  const fileOf = (entry: FileSystemEntry): Promise<File> =>
    new Promise((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
  return [...single, ...(await Promise.all(inFolders.map(fileOf)))];
}

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    // returns at most 100 entries per call
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return all;
    all.push(...some);
  }
}
