import { RopewalkError } from "../base/errors.js";

/** A file that is damaged, cut short, or not what its name says; `part` is what of it. @internal */
export function invalidFile(file: string, part: string, message: string, options?: ErrorOptions): never {
  throw new RopewalkError("INVALID_FILE", `${file}: ${part}`, message, options);
}

/** A sound file of something this package does not have. @internal */
export function unsupportedModel(file: string, part: string, message: string): never {
  throw new RopewalkError("UNSUPPORTED_MODEL", `${file}: ${part}`, message);
}

/** A server that does not give a file as it should. @internal */
export function networkFailure(file: string, message: string, options?: ErrorOptions): never {
  throw new RopewalkError("NETWORK", `${file}: download`, message, options);
}
