import { show } from "./show.js";

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const answer = new Promise((resolve, reject) => {
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = reject;
});

show({ worker: answer });
