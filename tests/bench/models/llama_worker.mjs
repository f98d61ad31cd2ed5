// llama.cpp in wasm, in a Worker, with the interface of ropewalk_worker.mjs.
import { expose } from "/node_modules/comlink/dist/esm/comlink.mjs";

let llama;

expose({
  async open(source, { threads, cache, flash }) {
    const folder = threads > 1 ? "wasm-threads" : "wasm";
    const { default: start } = await import(`/build/peers/${folder}/llama_driver.mjs`);
    llama = await start({ printErr: console.error });
    const blob = await (await fetch(source)).blob();
    llama.FS.mkdir("/model");
    llama.FS.mount(llama.WORKERFS, { blobs: [{ name: "model.gguf", data: blob }] }, "/model");
    const kinds = ["string", "number", "string", "number"];
    const isOpen = llama.ccall("open_model", "number", kinds, ["/model/model.gguf", threads, cache, Number(flash)]);
    if (!isOpen) throw new Error(`llama.cpp can't open ${source}`);
    return {};
  },

  append: (count, times = 1) => Array.from({ length: times }, () => llama._append(count)),

  rewind(length) {
    llama._rewind_to(length);
  },
});
