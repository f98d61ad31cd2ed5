/**
 * The RoPE Doctor: what a model's RoPE is, what other systems do with it, and how to run it at a length. Start with {@link diagnose}.
 *
 * @packageDocumentation
 */
import { type Diagnose, diagnoseOn } from "./apps/doctor/diagnose.js";
import { webFiles } from "./runtime/files/platform.js";

export type { Diagnose, DiagnoseOptions } from "./apps/doctor/diagnose.js";
export * from "./apps/doctor/diagnosis.js";
export { parseTokenCount } from "./core/base/token_count.js";

/** Explains the RoPE of a model. See {@link Diagnose}. */
export const diagnose: Diagnose = (rw, source, options) => diagnoseOn(webFiles, rw, source, options);
