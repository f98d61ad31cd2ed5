import { useRopewalk } from "./use_ropewalk.js";

console.log(await useRopewalk(process.env.ROPEWALK_MODEL));
