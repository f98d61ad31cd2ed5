// Reads the bodies of requests, as many bytes of each and of all together as the server may hold, within a time.
import type { IncomingMessage } from "node:http";
import { type ErrorBody, errorBody } from "../../openai/errors.js";

/** What bodies may take. */
export interface BodyLimits {
  /** Bytes of one. */
  readonly largest: number;
  /** Bytes of all that are read or belong to a request that waits or runs. */
  readonly together: number;
  /** Milliseconds until a body has come. */
  readonly time: number;
}

/** A body that was read. Its bytes count until it is released. */
export interface HeldBody {
  readonly bytes: Buffer;
  release(): void;
}

/** A body that isn't read to its end, and what is answered. */
export interface RefusedBody {
  readonly status: 400 | 408 | 413 | 503;
  readonly body: ErrorBody;
}

/** Reads bodies. */
export class Bodies {
  readonly #limits: BodyLimits;
  #held = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Reads a body. A refused one is let go at once. */
  read(incoming: IncomingMessage): Promise<HeldBody | RefusedBody> {
    const { largest, together, time } = this.#limits;
    const tooLarge: RefusedBody = {
      status: 413,
      body: errorBody(
        `the request is larger than ${largest} bytes`,
        "invalid_request_error",
        null,
        "request_too_large",
      ),
    };
    if (Number(incoming.headers["content-length"] ?? 0) > largest) return Promise.resolve(tooLarge);
    if (incoming.destroyed && !incoming.readableEnded) return Promise.resolve(LOST);
    return new Promise((resolve) => {
      let chunks: Buffer[] = [];
      let size = 0;
      const settle = (result: HeldBody | RefusedBody): void => {
        clearTimeout(timer);
        incoming.off("data", add).off("end", end).off("close", lost).off("error", lost);
        if ("status" in result) {
          incoming.on("error", () => undefined).resume(); // what still comes is dropped
          this.#held -= size;
          chunks = [];
        }
        resolve(result);
      };
      const add = (chunk: Buffer): void => {
        if (size + chunk.length > largest) {
          settle(tooLarge);
          return;
        }
        if (this.#held + chunk.length > together) {
          settle(FULL);
          return;
        }
        size += chunk.length;
        this.#held += chunk.length;
        chunks.push(chunk);
      };
      const end = (): void => {
        let isHeld = true;
        const release = (): void => {
          if (isHeld) this.#held -= size;
          isHeld = false;
        };
        settle({ bytes: Buffer.concat(chunks), release });
      };
      const lost = (): void => settle(LOST);
      const timer = setTimeout(() => settle(slow(time)), time);
      incoming.on("data", add).on("end", end).on("close", lost).on("error", lost);
    });
  }
}

const FULL: RefusedBody = {
  status: 503,
  body: errorBody(
    "the bodies of other requests take all the memory for them; try again later",
    "server_error",
    null,
    "overloaded",
  ),
};

/** Nobody reads this answer. */
const LOST: RefusedBody = { status: 400, body: errorBody("the body isn't complete", "invalid_request_error") };

const slow = (time: number): RefusedBody => ({
  status: 408,
  body: errorBody(`the body didn't come within ${time / 1000} s`, "invalid_request_error", null, "request_timeout"),
});
