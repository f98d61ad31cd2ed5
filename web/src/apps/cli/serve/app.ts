// The paths of the server. What they answer is made by web/src/apps/openai and decisions.
import { setMaxListeners } from "node:events";
import { createHash, timingSafeEqual } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Context, Hono } from "hono";
import { cors } from "hono/cors";
import { messageOf, show } from "../../../core/base/show.js";
import { fail } from "../../../core/base/errors.js";
import type { AdapterOptions } from "../../../index.node.js";
import { parseOrdered, writeOrdered } from "../../decisions/ordered_json.js";
import { createSystemOne, systemOneRefusal } from "../../decisions/systemone.js";
import { type ModelList, type OpenAIClient, openaiClient } from "../../openai/client.js";
import { type ErrorBody, errorBody, errorResponse } from "../../openai/errors.js";
import { readServing } from "../../serving/options.js";
import type { ServedModel } from "../../serving/served_model.js";
import { eventStream, isChunks } from "./event_stream.js";
import { Bodies } from "./bodies.js";
import { HOME_HEADERS, HOME_PAGE } from "./home_page.js";
import type { IsHost } from "./hosts.js";
import type { Answering, Arrival } from "./listen.js";
import { RequestQueue } from "./queue.js";
import { inServerWords } from "./server_words.js";

/** Settings of the server. */
export interface AppSettings {
  /** Bearer token that requests must have. */
  token: string | undefined;
  /** Origins whose pages may read answers; `*` for all. */
  origins: readonly string[];
  /** Bytes of the largest request. */
  maxBody: number;
  /** Bytes of all requests that are read, wait or run. */
  maxBodies: number;
  /** Number of requests that run at the same time. */
  parallel: number;
  /** Number of requests that may wait. */
  maxQueue: number;
  /** Which hosts requests may name. */
  isHost: IsHost;
  /** Model name in responses. */
  name: string | undefined;
  /** How chats are rendered. */
  chats?: Pick<NonNullable<Parameters<typeof openaiClient>[1]>, "templateName" | "parseSpecial" | "onWarning">;
}

/** The server, without its port. */
export interface App extends Answering {
  /** Answers with this model, and these adapters, from now on. Without one, requests get 503. */
  use(model: ServedModel | undefined, adapters?: AdapterOptions): void;
  /** Number of requests that the model has been asked for. */
  requests(): number;
  /** Bytes of bodies that are held now. */
  heldBytes(): number;
  /** Aborts what runs, waits for it for a few seconds, and frees the sessions. */
  close(): Promise<void>;
}

interface Environment {
  Bindings: Arrival;
}

/** How long closing waits for requests that run. */
const CLOSING_MS = 5_000;

/** How long the body of a request may take to come. */
const BODY_MS = 30_000;

/** Paths that need no token. */
const OPEN_PATHS: readonly string[] = ["/health", "/"];

type Create = (body: never, options: { signal: AbortSignal }) => Promise<unknown>;

/** How requests and responses are written. */
interface Form {
  readonly parse: (text: string) => unknown;
  readonly write: (body: object) => string;
  /** What a request is refused with, if not as in OpenAI's shape. */
  readonly refusal: (error: unknown, body: unknown) => { status: number; body: object } | undefined;
}

const OPENAI: Form = {
  parse: (text) => JSON.parse(text) as unknown,
  write: (body) => JSON.stringify(body),
  refusal: () => undefined,
};

/** Names of its options are keys, which can be integers. */
const SYSTEM_ONE: Form = { parse: parseOrdered, write: writeOrdered, refusal: systemOneRefusal };

const JSON_TYPE = { "Content-Type": "application/json" };

/** After how many seconds to ask again while there is no model, or no place. */
const RETRY_AFTER = "5";

export function createApp(settings: AppSettings): App {
  const { token, origins, maxBody, maxBodies, parallel, maxQueue, isHost, name, chats } = settings;
  let client: OpenAIClient | undefined;
  let systemOne: Create | undefined;
  let models: ModelList = { object: "list", data: [] };
  const ready = (): OpenAIClient =>
    client ?? fail("THREAD_LOST", "worker", "the model is being loaded again, because its Worker has ended");
  const queue = new RequestQueue(parallel, maxQueue);
  const bodies = new Bodies({ largest: maxBody, together: maxBodies, time: BODY_MS });
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // each request listens
  const running = new Set<Promise<void>>();
  let requests = 0;

  const app = new Hono<Environment>({ strict: false }); // a path may end with a slash
  const failure = (error: unknown): { status: number; body: ErrorBody } => {
    if (closing.signal.aborted) return { status: 503, body: errorBody("the server is closing", "server_error") };
    return errorResponse(inServerWords(error));
  };
  app.onError((error, c) => {
    const { status, body } = failure(error);
    if (status === 503) c.header("Retry-After", RETRY_AFTER);
    return c.json(body, status as 400);
  });
  app.notFound((c) => c.json(errorBody(notFoundText(c.req, app.routes), "invalid_request_error"), 404));
  if (origins.length > 0) app.use(cors({ origin: origins.includes("*") ? "*" : [...origins] }));
  app.use(async (c, next) => {
    if (![c.env.incoming.headers.host, new URL(c.req.url).host].every(isHost))
      return c.json(
        errorBody(
          "the host must be localhost, or an address of this machine; the server can be started with --allowed-hosts for others",
          "invalid_request_error",
          null,
          "host_not_allowed",
        ),
        403,
      );
    if (token !== undefined && !OPEN_PATHS.includes(c.req.path) && !hasToken(c.req.header("authorization"), token)) {
      c.header("WWW-Authenticate", "Bearer");
      return c.json(
        errorBody("the bearer token is missing or wrong", "authentication_error", null, "invalid_api_key"),
        401,
      );
    }
    return next();
  });
  const answer = async (
    c: Context<Environment>,
    createOf: (client: OpenAIClient) => unknown,
    { parse, write, refusal }: Form = OPENAI,
  ): Promise<Response> => {
    ready();
    // pages of other sites can send any other type without being asked for their origin
    if (!/^application\/json\b/i.test(c.req.header("content-type") ?? ""))
      return c.json(errorBody("the content type must be application/json", "invalid_request_error"), 415);
    const coding = c.req.header("content-encoding") ?? "identity";
    if (!/^identity$/i.test(coding))
      return c.json(errorBody(`the body must not be encoded (got ${coding})`, "invalid_request_error"), 415);
    const read = await bodies.read(c.env.incoming);
    if ("status" in read) {
      if (read.status === 503) c.header("Retry-After", "1");
      c.header("Connection", "close"); // what still comes of the body isn't read
      return c.json(read.body, read.status);
    }
    const undoing: (() => void)[] = [() => read.release()];
    const end = (): void => {
      for (const undo of undoing.splice(0)) undo();
    };
    let isStream = false;
    try {
      let body: unknown;
      try {
        body = parse(new TextDecoder("utf-8", { fatal: true }).decode(read.bytes));
      } catch (error) {
        return c.json(errorBody(`the body isn't valid JSON: ${messageOf(error)}`, "invalid_request_error"), 400);
      }
      const leaving = new AbortController();
      const { signal, part } = joined([c.req.raw.signal, c.env.gone, closing.signal, leaving.signal]);
      undoing.push(part);
      const entered = queue.enter(signal);
      if (entered === undefined) {
        c.header("Retry-After", RETRY_AFTER);
        return c.json(
          errorBody("too many requests are waiting; try again later", "rate_limit_error", null, "queue_full"),
          429,
        );
      }
      requests += 1;
      undoing.push(await entered);
      const done = new Promise<void>((resolve) => undoing.push(resolve));
      running.add(done);
      undoing.push(() => running.delete(done));
      signal.throwIfAborted();
      const create = createOf(ready()) as Create;
      let result: unknown;
      try {
        result = await create(body as never, { signal });
      } catch (error) {
        const refused = closing.signal.aborted ? undefined : refusal(inServerWords(error), body);
        if (refused === undefined) throw error;
        return c.body(write(refused.body), refused.status as 400, JSON_TYPE);
      }
      if (!isChunks(result)) return c.body(write(result as object), 200, JSON_TYPE);
      const first = await result.next(); // errors until here have a status
      isStream = true;
      return eventStream(first, result, { signal, leaving, end, failure, isWanted: () => queue.hasWaiting });
    } finally {
      if (!isStream) end();
    }
  };

  app.get("/", (c) => c.body(HOME_PAGE, 200, HOME_HEADERS));
  app.post("/v1/chat/completions", (c) => answer(c, ({ chat }) => chat.completions.create));
  app.post("/v1/completions", (c) => answer(c, ({ completions }) => completions.create));
  app.post("/v1/embeddings", (c) => answer(c, ({ embeddings }) => embeddings.create));
  app.post("/v1/decisions", (c) => answer(c, ({ decisions }) => decisions.create));
  app.post("/v1/systemone", (c) => answer(c, () => systemOne, SYSTEM_ONE));
  app.get("/health", (c) =>
    client === undefined ? c.json({ status: "loading model" }, 503) : c.json({ status: "ok" }),
  );
  addModelPaths(app, () => models);
  refuseOtherMethods(app);

  return {
    fetch: (request, arrival) => app.fetch(request, arrival),
    isHealthy: ({ method, url, headers }) =>
      client !== undefined &&
      method === "GET" &&
      url === "/health" &&
      headers.origin === undefined &&
      isHost(headers.host),
    use: (model, adapters) => {
      client?.dispose();
      client = undefined;
      if (model === undefined) return;
      const options = { ...chats, parallel, ...(name !== undefined && { name }), ...(adapters && { adapters }) };
      client = openaiClient(model, options);
      models = client.models.list();
      const serving = { ...readServing(options, "serve"), name: models.data[0]!.id };
      systemOne = (body, { signal }) => createSystemOne(model, serving, body, signal);
    },
    requests: () => requests,
    heldBytes: () => bodies.held,
    close: async () => {
      closing.abort();
      await Promise.race([Promise.all(running), sleep(CLOSING_MS, undefined, { ref: false })]);
      client?.dispose();
    },
  };
}

/** A signal that is aborted with any of these, until `part` is called. Node's own join of a signal that stays keeps a reference for each request. */
function joined(signals: readonly AbortSignal[]): { signal: AbortSignal; part: () => void } {
  const controller = new AbortController();
  const abort = (event: Event): void => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    signal.addEventListener("abort", abort);
  }
  const part = (): void => {
    for (const signal of signals) signal.removeEventListener("abort", abort);
  };
  return { signal: controller.signal, part };
}

function addModelPaths(app: Hono<Environment>, list: () => ModelList): void {
  app.get("/v1/models", (c) => c.json(list()));
  app.get("/v1/models/:id", (c) => {
    const [model] = list().data;
    const id = c.req.param("id");
    if (id === model!.id) return c.json(model);
    const message = `there is no model ${show(id)} here; this server has ${show(model!.id)}`;
    return c.json(errorBody(message, "invalid_request_error", "model", "model_not_found"), 404);
  });
}

/** Names the path that was meant if only /v1 is missing, else all paths. */
function notFoundText({ method, path }: { method: string; path: string }, routes: readonly { path: string }[]): string {
  const paths = [...new Set(routes.map((route) => route.path))].filter((one) => !one.includes("*"));
  const meant = paths.find((one) => one === `/v1${path}`);
  return `${method} ${path} isn't a path of this server; ${meant === undefined ? `it has ${paths.join(", ")}` : `did you mean ${meant}?`}`;
}

/** Paths that exist with another method. */
function refuseOtherMethods(app: Hono<Environment>): void {
  const methods = new Map<string, string>();
  for (const { path, method } of app.routes) if (method !== "ALL") methods.set(path, method);
  for (const [path, method] of methods)
    app.all(path, (c) => {
      c.header("Allow", method);
      return c.json(errorBody(`${c.req.path} only takes ${method}`, "invalid_request_error"), 405);
    });
}

function hasToken(header: string | undefined, token: string): boolean {
  const given = /^bearer +(.*)$/i.exec(header ?? "")?.[1] ?? "";
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}
