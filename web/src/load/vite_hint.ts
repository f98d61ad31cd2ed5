/**
 * What to set if Vite before 8 bundled the package for its development server, which puts scripts apart from the files
 * next to them; empty for any other address.
 * @internal
 */
export const viteHint = (address: string): string =>
  address.includes("/.vite/deps/") ? '; set optimizeDeps: { exclude: ["ropewalk"] } in the config of Vite' : "";
