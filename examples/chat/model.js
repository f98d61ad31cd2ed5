// The model, which runs in a Worker, and its session, which is kept on the device.
import { load } from "ropewalk/worker";
import exampleUrl from "ropewalk/small_model.gguf?url";

/** The name of the kept session: one chat at a time. */
const KEPT = "chat";

/** The example model was trained on stories, and has no template for chats: it continues what was said. */
const EXAMPLE = { chatTemplate: '{{ messages | map(attribute="content") | map("trim") | join(" ") }}' };

const loading = load();
let model;

/**
 * Opens a model: the URL of a GGUF file, files that were dropped, or, without a source, the example model. The model before it is disposed.
 * Returns its session, which has already read what the kept one had, and what there is to say about it.
 */
export async function openModel(source, options) {
  const rw = await loading;
  await model?.dispose();
  model = undefined;
  const address = source ?? new URL(exampleUrl, document.baseURI).href;
  model = await rw.model(address, { ...(source ? {} : EXAMPLE), cache: "browser", ...options });
  // a session of another model is refused: then the chat is read again
  const session = await model.openSession(KEPT).catch(() => model.session());
  const threads = rw.oneThread === undefined ? `${rw.threads} threads` : `one thread: ${rw.oneThread}`;
  const kept = session.length > 0 ? `, ${session.length} tokens kept` : "";
  return { session, about: `${model.info.name}, ${threads}${kept}` };
}

/** Keeps what a session has read, so that a reload doesn't read it again. */
export const keepSession = (session) => session.keep(KEPT);
