// The text that all contenders read, as llama_driver.cpp does.

/** Tokens that a session needs at most. */
export const CONTEXT = 4352;

/** `count` token ids after `length` others. */
export const tokensAt = (length, count) => Array.from({ length: count }, (_, i) => 3 + (((length + i) * 37) % 200));
