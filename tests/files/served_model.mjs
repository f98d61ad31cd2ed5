// A model served over HTTP, for tests of requests and responses.
import { ggufBytes } from "./gguf_writer.mjs";
import { fetchOnly, openModel } from "./reading.mjs";
import { serve } from "./server.mjs";
import { ggufModel } from "./tiny_models.mjs";

/** A file larger than the first read (1 MB), so that tensors need further requests. */
export const bytes = ggufBytes(ggufModel({ large: 3 << 20 }));

/** The field of a NETWORK error. */
export const field = "m.gguf: download";

export const server = (t, misbehave) => serve(t, { "m.gguf": bytes }, misbehave);

/** Opens the model without retries, unless `options` says otherwise. */
export const open = ({ url }, options, name = "m.gguf") =>
  openModel(fetchOnly, `${url}${name}`, { retries: 0, ...options });
