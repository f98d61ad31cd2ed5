// The script of a helper thread, in pages and in Node: an instance of the module on its owner's memory, which computes parts of jobs until it is
// stopped. It imports nothing and runs as any kind of script, because it is also started from its text.

/** What a helper needs to know. @internal */
export interface HelperTask {
  readonly module: WebAssembly.Module;
  readonly memory: WebAssembly.Memory;
  /** Names of its exports: the function that takes part in jobs, and the one that sets the stack pointer. */
  readonly help: string;
  readonly setStack: string;
  /** Address of the end of its stack. */
  readonly stack: number;
  readonly thread: number;
}

/** What a helper tells its owner: that it runs, and that it was stopped. @internal */
export type HelperMessage = "ready" | "stopped";

/** The connection to the owner. A helper that a page starts for its Worker gets a port to that Worker first, and then the task from there. */
interface Port {
  onmessage: ((event: { data: HelperTask | Port }) => void) | null;
  postMessage(message: HelperMessage): void;
}

interface NodeProcess {
  getBuiltinModule?(name: string): { parentPort: Port | null };
}

const node = (globalThis as { process?: NodeProcess }).process?.getBuiltinModule?.("node:worker_threads");
listen(node?.parentPort ?? (globalThis as unknown as Port));

function listen(port: Port): void {
  port.onmessage = ({ data }) => ("module" in data ? compute(data, port) : listen(data));
}

function compute({ module, memory, help, setStack, stack, thread }: HelperTask, port: Port): void {
  const imports: Record<string, Record<string, WebAssembly.ImportValue>> = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    // parts of jobs don't call JavaScript
    const forbidden = (): never => {
      throw new Error("a helper thread must not call JavaScript");
    };
    (imports[from] ??= {})[name] = kind === "memory" ? memory : forbidden;
  }
  const exports = new WebAssembly.Instance(module, imports).exports as Record<string, (value: number) => void>;
  exports[setStack]!(stack);
  port.postMessage("ready");
  exports[help]!(thread);
  port.postMessage("stopped");
}
