// Both entries on the server.
/* global defineEventHandler -- Nuxt imports it */
import { useRopewalk } from "#shared/use_ropewalk.js";

export default defineEventHandler(() => useRopewalk(process.env.ROPEWALK_MODEL));
