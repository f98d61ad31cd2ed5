// Copies the files of the two models into public/, which Vite serves and copies as it is. Runs before `npm run dev` and `npm run build`.
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";

const models = join(import.meta.dirname, "public", "models");
const isModelFile = (path) => !/\.(py|mjs|md)$/.test(path) && !path.endsWith("training.json");

await rm(models, { recursive: true, force: true });
for (const name of ["small_encoder", "small_ranker"])
  await cp(join(import.meta.dirname, "..", name), join(models, name), { recursive: true, filter: isModelFile });
