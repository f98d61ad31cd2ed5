// What every entry of the package exports besides its own `load`.
export { overrideRopeConfig, ropeConfig, type RopeConfigOptions } from "./config/rope_config.js";
export { ropeLayers } from "./config/rope_layers.js";
export type { GgufRopeTensors, GgufSource } from "./config/gguf.js";
export type { RopeOverrides, ScalingOverrides } from "./config/overrides.js";
export {
  COMPATS,
  MROPE_LAYOUTS,
  PAIRINGS,
  PRECISIONS,
  QUERY_TEMPERATURE_LAYERS,
  RAMPS,
  ROPE_TYPES,
  type Compat,
  type MropeLayout,
  type Pairing,
  type Precision,
  type QueryTemperature,
  type QueryTemperatureLayers,
  type Ramp,
  type RopeConfig,
  type RopeScaling,
  type RopeType,
  type XposScale,
} from "./config/types.js";
export { DECAY_CURVES, type DecayCurve, type DecayOptions } from "./decay.js";
export type { Description, PairDescription, PairTreatment } from "./description.js";
export { describe } from "./describe_loaded.js";
export { DTYPES, type DType, type ElementArray, type Float16ArrayLike } from "./elements.js";
export { RopewalkError, type RopewalkErrorCode } from "./errors.js";
export type { Load, LoadOptions, WasmBytesSource, WasmSource } from "./load.js";
export type { ConvertPairingOptions } from "./pairing.js";
export type { FrequencyPlan } from "./plan.js";
export type { PositionArray, PositionInput } from "./positions.js";
export type { RerotateOptions, Standing } from "./rerotate.js";
export { Rope } from "./rope.js";
export { ROLES, type Role } from "./rope_core.js";
export type { RotateOptions } from "./rotate.js";
export { type Build, BUILDS, Ropewalk } from "./runtime.js";
export { type Layout, LAYOUTS } from "./shape.js";
export { type CosSinTable, TABLE_LAYOUTS, type TableIntoOptions, type TableLayout, type TableOptions } from "./table.js";
export { Tensor } from "./tensor.js";
