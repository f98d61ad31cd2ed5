// Limits against machines that would fill the memory or take seconds.

/** Thrown where a limit is exceeded. The message says what isn't followed. */
export class TooLarge extends Error {}

/** The most states of a machine, and nodes of a pattern. */
export const MAX_STATES = 60_000;
/** The most edges that are looked at. */
export const MAX_EDGES = 3_000_000;
/** The most states of a machine that is minimized. */
export const MAX_MINIMIZED = 4_000;
