// Builds the web apps of examples/ as a user does who has copied them: `npm run build` in a folder of their own, with the packed package.
import { cp, mkdir, readFile, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { capture } from "../../scripts/run.mjs";
import { makeFolder, removeFolder, root, unpackPackage } from "../browser/tarball.mjs";

/** What is not copied: what a contributor's own runs of the app have left. */
const LEFT = ["node_modules", "dist", "public", "package-lock.json"];

/** Puts the packages that an app asks for into its node_modules/: links to those of the checkout, and to the unpacked tarball. */
async function linkPackages(app, ropewalk) {
  const { dependencies, devDependencies } = JSON.parse(await readFile(join(app, "package.json"), "utf8"));
  const names = Object.keys({ ...dependencies, ...devDependencies });
  const links = names.map((name) => [name, name === "ropewalk" ? ropewalk : join(root, "node_modules", name)]);
  links.push([join(".bin", "vite"), join(root, "node_modules", ".bin", "vite")]);
  for (const [name, target] of links) {
    const link = join(app, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(target, link);
  }
}

/** Calls `use` with the folder of an app of examples/, built. `beside` are folders of examples/ that it reads. */
export async function withBuiltApp(name, use, { beside = [] } = {}) {
  const parent = await makeFolder();
  try {
    for (const folder of [name, ...beside])
      await cp(join(root, "examples", folder), join(parent, folder), {
        recursive: true,
        filter: (path) => !LEFT.some((left) => path.endsWith(join(folder, left))),
      });
    const app = join(parent, name);
    await linkPackages(app, await unpackPackage(parent));
    await capture("npm", ["run", "build", "--silent"], { cwd: app });
    await use(join(app, "dist"));
  } finally {
    await removeFolder(parent);
  }
}

/** What the apps need of a content security policy: their scripts, wasm, styles, and an empty icon. */
export const APP_CSP =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; style-src 'self'; img-src data:; worker-src 'self'";
