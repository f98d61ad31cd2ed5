// Both entries on the server.
import { useRopewalk } from "../../../lib/use_ropewalk.js";

export const GET = async () => new Response(await useRopewalk(process.env.ROPEWALK_MODEL));
