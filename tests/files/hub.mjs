// A stand-in for the Hugging Face Hub: its listing of a repository, its redirects, its headers and its refusals, on this machine.
//
// What it answers is what huggingface.co answered in 2026. Large files are redirected to another host, which must never get a token: that
// one answers 400 to a request with one, as the Hub's storage does.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { answer } from "./server.mjs";

/** The digest by which the Hub names a large file. */
export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** The digest by which the Hub names a small file: that of a git object. */
export const gitDigest = (bytes) => createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");

const isLarge = (path) => /\.(gguf|safetensors|bin|onnx)$/.test(path);

/** Names a commit by its contents. */
export const commitOf = (files) =>
  createHash("sha1")
    .update(JSON.stringify(Object.entries(files).map(([path, bytes]) => [path, sha256(bytes)])))
    .digest("hex");

/**
 * Serves repositories until the test ends.
 *
 * @param repositories `{ "org/name": { files: { path: bytes }, gated, isPrivate, revisions: { name: files } } }`; may be changed
 * @param misbehave called with { request, response, count } before each answer of either host; returns true if it has answered
 * @returns `url` of the Hub, all `requests` as { host, method, path, range, token }, and `stop()`
 */
export async function serveHub(t, repositories, misbehave = () => false) {
  const requests = [];
  const listen = async (host, respond) => {
    const server = createServer((request, response) => {
      response.on("error", () => {});
      const url = new URL(request.url, "http://localhost");
      const { range, authorization } = request.headers;
      const path = url.pathname;
      requests.push({ host, path: decodeURIComponent(path), range, token: authorization });
      const count = requests.filter((other) => other.host === host && other.path === decodeURIComponent(path)).length;
      if (misbehave({ host, path, request, response, count }) === true) return;
      // pages may read all of it
      for (const [name, value] of Object.entries({
        "access-control-allow-origin": "*",
        "access-control-allow-headers": "authorization, range",
        "access-control-expose-headers":
          "X-Repo-Commit,X-Error-Code,X-Error-Message,ETag,Link,Accept-Ranges,Content-Range,X-Linked-Size,X-Linked-ETag",
      }))
        response.setHeader(name, value);
      if (request.method === "OPTIONS") return void response.writeHead(204).end();
      respond({ url, request, response });
    });
    await new Promise((resolve) => server.listen(0, host, resolve));
    const stop = () => {
      server.closeAllConnections();
      server.close();
    };
    t.after(stop);
    return { address: `http://${host}:${server.address().port}`, stop };
  };
  const storage = await listen("localhost", ({ url, request, response }) => {
    if (request.headers.authorization !== undefined) return void response.writeHead(400).end("a token");
    const digest = url.pathname.slice(1);
    const all = Object.values(repositories).flatMap(({ files, revisions }) => [
      files,
      ...Object.values(revisions ?? {}),
    ]);
    const bytes = all.flatMap((files) => Object.values(files)).find((content) => sha256(content) === digest);
    answer(response, bytes, rangeOf(request, bytes), { headers: { etag: `"${digest}"` } });
  });
  const hub = await listen("127.0.0.1", (call) => respondAsHub(call, repositories, storage.address));
  return {
    url: hub.address,
    requests,
    stop: () => [storage, hub].forEach(({ stop }) => stop()),
  };
}

/** The token that the stand-in accepts. */
export const TOKEN = "hf_standInForAToken";

function respondAsHub({ url, request, response }, repositories, storage) {
  const refuse = (status, code, message, headers = {}) => {
    const named = code === undefined ? {} : { "x-error-code": code };
    response.writeHead(status, { ...named, "x-error-message": message, "content-type": "text/plain", ...headers });
    response.end(message);
  };
  const { authorization } = request.headers;
  if (authorization !== undefined && authorization !== `Bearer ${TOKEN}` && authorization !== "Bearer hf_noAccess")
    return refuse(401, undefined, "Invalid credentials in Authorization header");
  const hasAccess = authorization === `Bearer ${TOKEN}`;
  const [, api, repository, kind, encoded, path = ""] =
    /^\/(api\/models\/|api\/resolve-cache\/models\/)?([^/]+\/[^/]+)\/(revision|resolve|at)\/([^/]+)(?:\/(.*))?$/.exec(
      url.pathname,
    ) ?? [];
  const found = repositories[repository];
  // without a token, the Hub doesn't tell a private model from none
  if (found === undefined || (found.isPrivate && !hasAccess))
    return refuse(authorization === undefined ? 401 : 404, "RepoNotFound", "Repository not found");
  const revision = decodeURIComponent(encoded);
  const { files, revisions = {} } = found;
  const all = { main: files, ...revisions };
  const contents = all[revision] ?? Object.values(all).find((other) => commitOf(other) === revision);
  if (contents === undefined) return refuse(404, "RevisionNotFound", `Invalid rev id: ${revision}`);
  const commit = commitOf(contents);
  if (kind === "revision") {
    const siblings = Object.entries(contents).map(([rfilename, bytes]) => ({
      rfilename,
      size: bytes.length,
      blobId: gitDigest(isLarge(rfilename) ? Buffer.from(sha256(bytes)) : bytes),
      ...(isLarge(rfilename) && { lfs: { sha256: sha256(bytes), size: bytes.length, pointerSize: 134 } }),
    }));
    const body = Buffer.from(
      JSON.stringify({ _id: "1", id: repository, sha: commit, gated: found.gated ?? false, siblings }),
    );
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      "content-length": body.length,
      etag: `W/"${gitDigest(body)}"`,
    });
    return void response.end(body);
  }
  if (found.gated && !hasAccess)
    return refuse(authorization === undefined ? 401 : 403, "GatedRepo", `Access to model ${repository} is restricted.`);
  const name = decodeURIComponent(path);
  const bytes = contents[name];
  if (bytes === undefined) return refuse(404, "EntryNotFound", "Entry not found");
  if (isLarge(name)) {
    response.writeHead(302, {
      location: `${storage}/${sha256(bytes)}`,
      "x-repo-commit": commit,
      "x-linked-etag": `"${sha256(bytes)}"`,
      "x-linked-size": bytes.length,
    });
    return void response.end();
  }
  if (api === undefined) {
    response.writeHead(307, {
      location: `/api/resolve-cache/models/${repository}/at/${commit}/${path}`,
      "x-repo-commit": commit,
      etag: `"${gitDigest(bytes)}"`,
    });
    return void response.end();
  }
  const isHead = request.method === "HEAD";
  const headers = { etag: `"${gitDigest(bytes)}"`, "x-repo-commit": commit };
  answer(response, bytes, rangeOf(request, bytes), { headers, ...(isHead && { body: "" }) });
}

function rangeOf(request, bytes) {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  if (first === undefined) return undefined;
  return { start: Number(first), end: Math.min(last ? Number(last) + 1 : Infinity, bytes?.length ?? 0) };
}
