// Written by scripts/fields.mjs of bindings/call_fields.def. Enumerators are numbers.

/** Positions of tokens (Positions), and the length of the sequence to plan for. @internal */
export interface PositionFields {
  offset: number;
  /** [axes][rows][tokens] f64; 0: offset, offset + 1, … */
  ids: number;
  axes: number;
  rows: number;
  tokens: number;
  /** 0: the largest position + 1 */
  sequence_length: number;
}

/** A tensor of heads (HeadTensor). @internal */
export interface TensorFields {
  source: number;
  target: number;
  dtype: number;
  layout: number;
  batches: number;
  tokens: number;
  heads: number;
  head_dim: number;
}

/** The options of attention (AttentionOptions). @internal */
export interface AttentionFields {
  scale: number;
  causal: boolean;
  window: number;
  sink_tokens: number;
  /** [heads] f32, or 0 */
  sinks: number;
  soft_cap: number;
  /** [tokens] f32, or 0 */
  temperatures: number;
  scheme: number;
  rope: number;
  base: number;
  table: number;
  table_rows: number;
  slopes: number;
  buckets: number;
  max_distance: number;
  bidirectional: boolean;
}

/** A plan (FrequencyPlan). Its lists stay in the memory of the rope. @internal */
export interface PlanFields {
  /** [pairs] f64 */
  inv_freq: number;
  /** [pairs] u8 */
  axis_of_pair: number;
  /** [pairs] f64; 0 without xPos */
  xpos_scale: number;
  pairs: number;
  axes: number;
  attention_factor: number;
  softmax_scale: number;
  valid_from: number;
  valid_to: number;
  ramp_low: number;
  ramp_high: number;
  max_length: number;
  table_length: number;
  query_temperature_scale: number;
  query_temperature_floor_scale: number;
  query_temperature_offset: number;
  xpos_scale_base: number;
  xpos_center: number;
}

/** The pairs from `first` on, up to `last`. @internal */
export interface IntervalFields {
  first: number;
  last: number;
}
