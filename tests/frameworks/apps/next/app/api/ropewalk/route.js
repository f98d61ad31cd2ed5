// Both entries on the server.
import { useRopewalk } from "../../use_ropewalk.js";

export const dynamic = "force-dynamic";

export const GET = async () => new Response(await useRopewalk(process.env.ROPEWALK_MODEL));
