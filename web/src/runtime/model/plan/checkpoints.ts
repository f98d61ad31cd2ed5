// How many checkpoints of the states of recurrent layers a session keeps.

/** The most checkpoints that a session keeps by default, and the most bytes that they take if there are several. */
const MAX_CHECKPOINTS = 8;
const CHECKPOINT_BYTES = 64 * 2 ** 20;

/** Checkpoints that a session keeps unless its options say otherwise, if a copy of the states has so many bytes. @internal */
export const defaultCheckpoints = (stateBytes: number): number =>
  Math.max(1, Math.min(MAX_CHECKPOINTS, Math.floor(CHECKPOINT_BYTES / stateBytes)));

/** Bytes of a session's two copies of the states and its checkpoints, with the default options. @internal */
export const sessionStateBytes = (stateBytes: number): number => (2 + defaultCheckpoints(stateBytes)) * stateBytes;
