// What this browser gives to models: threads, memory, and the kernels chosen for its processor.
import type { Ropewalk } from "ropewalk";
import { find, withText } from "../page/elements.js";
import { bytesText } from "../page/units.js";

/** Kernels of these formats are listed: a float one, and one of each kind of quantization. */
const FORMATS = ["f16", "q8_0", "q4_k", "q6_k"] as const;

/** Fills the table of the device. `used` is what the runtime of the open model has: there is none before a model is open. */
export async function showDevice(
  rw: Pick<Ropewalk, "build" | "kernels">,
  used?: { threads: number; memoryBytes: number },
): Promise<void> {
  const memory = (navigator as { deviceMemory?: number }).deviceMemory;
  const kernels = FORMATS.map((format): [string, string] => [format, rw.kernels.products[format]]);
  const facts: [string, string][] = [
    ["Isolated from other origins", crossOriginIsolated ? `yes, by ${await isolatedBy()}` : "no, so one thread"],
    ["Threads of the model", used === undefined ? threadsToCome() : String(used.threads)],
    ["Processor cores", String(navigator.hardwareConcurrency)],
    ["Relaxed SIMD", rw.build === "relaxed" ? "yes" : "no"],
    ["Build", rw.build],
    ...(used === undefined ? [] : [["Memory of the model's Worker", bytesText(used.memoryBytes)] as [string, string]]),
    ["Memory of the device", memory === undefined ? "this browser doesn't say" : `${memory} GiB or more`],
  ];
  find("#device tbody").replaceChildren(...facts.map(rowOf));
  find("#kernels tbody").replaceChildren(...kernels.map(rowOf));
}

/** What `threads: "auto"` takes once a model is opened. */
function threadsToCome(): string {
  return crossOriginIsolated ? "one for each fast processor core, once it is open" : "1";
}

function rowOf([name, ...values]: readonly [string, ...string[]]): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.append(Object.assign(withText("th", name), { scope: "row" }), ...values.map((value) => withText("td", value)));
  return row;
}

/** Offers to load the page again if the service worker, which isolates pages, was installed by this visit. */
export async function offerReload(): Promise<void> {
  const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer };
  if (crossOriginIsolated || serviceWorker === undefined || navigator.hardwareConcurrency < 2) return;
  find("#reload button").addEventListener("click", () => location.reload());
  await serviceWorker.ready;
  find("#reload").hidden = false;
}

/** The header that isolates this page, or what adds it. */
async function isolatedBy(): Promise<string> {
  // pages without TLS have no service workers
  const { serviceWorker } = navigator as { serviceWorker?: ServiceWorkerContainer };
  if (serviceWorker?.controller != null) return "the service worker of this site";
  const { headers } = await fetch(location.href, { method: "HEAD" });
  const policy = headers.get("document-isolation-policy");
  if (policy !== null) return `Document-Isolation-Policy: ${policy}`;
  return `Cross-Origin-Embedder-Policy: ${headers.get("cross-origin-embedder-policy") ?? "unknown"}`;
}
