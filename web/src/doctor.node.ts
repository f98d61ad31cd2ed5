/** The RoPE Doctor in Node. Same as in a page, but reads files. */
import { type Diagnose, diagnoseOn } from "./apps/doctor/diagnose.js";
import { nodeFilePlatform } from "./runtime/files/platform.node.js";

export type { Diagnose, DiagnoseOptions } from "./apps/doctor/diagnose.js";
export * from "./apps/doctor/diagnosis.js";
export { parseTokenCount } from "./core/base/token_count.js";

/** Same as in a page. `source` may also be the path of a file or folder. */
export const diagnose: Diagnose = (rw, source, options) => diagnoseOn(nodeFilePlatform, rw, source, options);
