import type { RopeConfig } from "../config/types.js";
import type { Description } from "../rope/description.js";
import { loaded } from "./load.js";

/**
 * What `config` means at a sequence length (the trained one), by the module loaded last: `rw.describe` without the `rw`.
 * @throws {@link RopewalkError} NOT_LOADED before the first `load()`; as `rw.rope()` for a config that is wrong.
 */
export function describe(config: RopeConfig, seqLen?: number): Description {
  return loaded().describe(config, seqLen);
}
