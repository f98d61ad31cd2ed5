// Both entries on the server.
import { useRopewalk } from "../../use_ropewalk.js";

export const prerender = false;

export const GET = async () => new Response(await useRopewalk(process.env.ROPEWALK_MODEL));
