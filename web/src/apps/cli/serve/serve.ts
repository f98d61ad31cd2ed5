// `ropewalk serve`: a local server with OpenAI's paths. The model runs in a Worker, so that this thread answers while it computes.
import * as advise from "../../../core/base/advice.js";
import { basename, resolve } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import { isFolder } from "../../../runtime/files/node_files.js";
import { hostCheck, isLoopback, readHosts } from "./hosts.js";
import { interruptible } from "../interrupt.js";
import {
  chatTemplateOption,
  type ChatTemplateFlags,
  type MessageFlags,
  messageOptions,
  messageOptionsFrom,
  modelOptions,
  modelSummary,
} from "../loaded_model.js";
import { parseInteger, parseTokens, repeatable } from "../options.js";
import { type KvFlags, kvOption } from "../kv_option.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { Listening } from "./listen.js";
import { type ReloadedSource, useWithReloads } from "./reloading.js";
import type { WorkerModel } from "../../../worker.node.js";
import type { Terminal } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";

interface Flags extends RopeFlags, ThreadFlags, KvFlags, QuantizeFlags, LoraFlags, ChatTemplateFlags, MessageFlags {
  host: string;
  name?: string;
  port: number;
  token?: string;
  cors?: string[];
  allowedHosts?: string[];
  maxBody: number;
  maxBodies?: number;
  maxConnections: number;
  parallel: number;
  maxQueue: number;
  context?: number;
}

const EXAMPLES = `
Paths: /v1/chat/completions, /v1/completions, /v1/embeddings, /v1/models, /health. Requests share the steps of the model.
The environment variable ROPEWALK_TOKEN is a token too, which other programs can't see in the list of processes.
Ctrl-C closes the server (exit code 0). If the model's Worker ends, the model is loaded again, and requests get 503 meanwhile. If that
happens three times within a minute, the server ends (exit code 1).

Examples:
  ropewalk serve model.gguf
  ropewalk serve model.gguf --port 9000 --cors http://localhost:5173
  ROPEWALK_TOKEN=secret ropewalk serve model.gguf --host 0.0.0.0`;

/** Adds `ropewalk serve`. */
export function addServe(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("serve")
    .summary("serve a model with OpenAI's paths")
    .description("Serve a model on this machine, for programs that speak OpenAI's protocol.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .option("--host <address>", "address to listen on; 0.0.0.0 for all", "127.0.0.1")
    .option("--port <n>", "port to listen on; 0: any free one", parseInteger(0, 65535), 8080)
    .option("--name <text>", "model name in responses (default: the name of the folder or file, or on the Hub)")
    .option("--token <text>", "bearer token that requests must have (default: $ROPEWALK_TOKEN, or none)", parseToken)
    .option(
      "--cors <origin>",
      "let pages of this origin read answers; repeatable (default: none)",
      repeatable(parseOrigin),
    )
    .option(
      "--allowed-hosts <names>",
      "host names that requests may use besides addresses and localhost, with commas (default: any with --host)",
      parseHosts,
    )
    .option("--max-body <n>", "largest request in KB", parseInteger(1), 4096)
    .option(
      "--max-bodies <n>",
      "KB of all requests that are read, wait or run (default: 16 times --max-body)",
      parseInteger(1),
    )
    .option("--max-connections <n>", "open connections; requests on others get 503", parseInteger(1, 65535), 512)
    .option("--parallel <n>", "requests that run at the same time, each with keys of its own", parseInteger(1, 32), 4)
    .option("--max-queue <n>", "requests that may wait; the next ones get 429", parseInteger(0), 16)
    .option("--context <n>", "context length in tokens (default: the trained length, at most 4096)", parseTokens(1))
    .addOption(chatTemplateOption())
    .addOption(messageOptions()[0]!)
    .addOption(messageOptions()[1]!)
    .addOption(threadOption())
    .addOption(quantizeOption())
    .addOption(kvOption())
    .addOption(loraOption());
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: Flags) => interruptible((signal) => run(terminal(), model, flags, signal)));
}

async function run(terminal: Terminal, source: string, flags: Flags, signal: AbortSignal): Promise<void> {
  const { host, port, cors = [], allowedHosts, maxBody, maxBodies = 16 * maxBody, parallel, maxQueue } = flags;
  const token = flags.token ?? process.env["ROPEWALK_TOKEN"];
  if (token === "")
    fail("INVALID_ARGUMENT", "ROPEWALK_TOKEN", "is empty", advise.other("set a token, or unset the variable"));
  const isLocal = isLoopback(host);
  if (maxBodies < maxBody)
    fail(
      "INVALID_ARGUMENT",
      "--max-bodies",
      `must be at least --max-body (${maxBody})`,
      advise.other("pass a larger one"),
    );
  const { createApp } = await import("./app.js");
  const { listen } = await import("./listen.js");
  const name = flags.name ?? ((await isFolder(source)) ? basename(resolve(source)) : undefined);
  const limits = { maxBody: maxBody * 1024, maxBodies: maxBodies * 1024, parallel, maxQueue };
  const chats = {
    ...messageOptionsFrom(flags),
    onWarning: (message: string) => terminal.note(`warning: ${message}`),
  };
  const app = createApp({ token, origins: cors, ...limits, isHost: hostCheck(isLocal, allowedHosts), name, chats });
  let server: Listening | undefined;
  const begin = async (model: WorkerModel): Promise<void> => {
    server = await listen(app, host, port, flags.maxConnections);
    if (!isLocal && token === undefined) terminal.note(openWarning(allowedHosts));
    if (model.info.generates && Object.keys(model.chatTemplates).length === 0)
      terminal.note(
        "warning: the model has no chat template, so /v1/chat/completions fails; pass one with --chat-template, or use /v1/completions",
      );
    terminal.note(modelSummary(model));
    terminal.note(`listening on ${server.address}/v1; Ctrl-C ends`);
  };
  const end = async (): Promise<void> => {
    await app.close();
    await server?.close();
  };
  try {
    const from: ReloadedSource = {
      source,
      threads: flags.threads,
      options: await modelOptions(flags, flags.context, signal),
      adapters: async (model) => (await loadAdapters(terminal, model, flags, signal)).adapters,
    };
    const model = await useWithReloads(terminal, from, signal, {
      async begin(model, adapters) {
        app.use(model, adapters);
        if (server === undefined) await begin(model);
        else terminal.note("the model is loaded again");
      },
      pause: () => app.use(undefined),
      end,
    });
    terminal.result({ model, address: server!.address, requests: app.requests() });
  } finally {
    await end();
  }
}

/** What it means that anybody can ask. */
function openWarning(allowedHosts: readonly string[] | undefined): string {
  const machines = "warning: every machine that reaches this address can use the model";
  if (allowedHosts !== undefined) return `${machines}; set a token with --token`;
  return `${machines}, and so can any web page that is open on one of them: a site can give its own name this address (DNS rebinding); set a token with --token, or name this machine with --allowed-hosts`;
}

function parseHosts(text: string): string[] {
  const hosts = readHosts(text);
  if (hosts === undefined)
    throw new InvalidArgumentError("Must be host names without ports, such as models.example,box.local.");
  return hosts;
}

/** A variable that is empty, and not in quotes, leaves the next option as the token. */
function parseToken(text: string): string {
  if (text === "" || text.startsWith("--")) throw new InvalidArgumentError("The token is missing.");
  return text;
}

function parseOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (text !== "*" && url?.origin !== text)
    throw new InvalidArgumentError("Must be an origin such as http://localhost:5173, or *.");
  return text;
}
