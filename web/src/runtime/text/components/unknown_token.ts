// What happens where a model has no token for a part of a text.

/** Thrown for a part of a text without a token, if there is no unknown token. */
export class NoUnknownToken extends Error {
  /** @param option the option of the model that names the unknown token */
  constructor(
    readonly option: string,
    message: string,
  ) {
    super(message);
  }
}
