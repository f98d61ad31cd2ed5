// A test that uses both entries, as a test of an app does.
/* global test */
import { useRopewalk } from "./use_ropewalk.js";

test("both entries", async () => {
  console.log(await useRopewalk(process.env.ROPEWALK_MODEL));
});
