// What a model may have: the limits of the core (src/transformer/model_config.h, src/rope/config.h) and of this package.

export const MAX_LAYERS = 4096;
/** Of any vector of a token: its hidden state, all heads together, the inside of the feed-forward block. */
export const MAX_WIDTH = 1 << 20;
export const MAX_VOCABULARY = 1 << 22;
export const MAX_EXPERTS = 4096;
export const MAX_HEAD_DIM = 8192;
export const MAX_HEADS = 65536;

/**
 * Pieces of tensors that the weights of a model are assembled from. A stacked tensor has a piece for each expert, and a fused one for each head,
 * so a short header can claim millions. Released models have up to 70,000.
 */
export const MAX_PIECES = 1 << 17;
