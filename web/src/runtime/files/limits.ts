// Limits of what the header of a model may claim: many times what released models have, so that a header of a few bytes can't fill the memory.

/** The longest header or JSON file that is read, in bytes: the limit of safetensors, and many times the longest of GGUF. @internal */
export const MAX_HEADER_BYTES = 100_000_000;

/** Tensors of a model. The largest released mixtures of experts have 140,000. @internal */
export const MAX_TENSORS = 1 << 18;

/** Files of a model. The largest released models have 200. @internal */
export const MAX_FILES = 4096;

/** Entries of GGUF metadata. Released files have about 50. @internal */
export const MAX_ENTRIES = 1 << 16;

/**
 * Values in all arrays of GGUF metadata, or in a JSON file. Gemma's vocabulary of 262,144 tokens, with its merges, has 1.3 million in GGUF
 * and 1.9 million in tokenizer.json.
 * @internal
 */
export const MAX_VALUES = 1 << 22;

/** Bytes of a name: the limit of the GGUF specification for keys. @internal */
export const MAX_NAME_BYTES = 65535;

/** Arrays and objects inside each other, in JSON and in GGUF metadata. @internal */
export const MAX_JSON_DEPTH = 64;
/** @internal */
export const MAX_ARRAY_DEPTH = 4;

/** Dimensions of a tensor in safetensors. GGUF has at most 4. @internal */
export const MAX_DIMENSIONS = 8;
