// The page that a browser gets at the server's own address: what is served, the paths, and a box to try them.
import { createHash } from "node:crypto";

const STYLE = `
:root { color-scheme: light dark; --ground: #f8f4ec; --raised: #efe8da; --line: #d9cfbb; --faint: #5c5f5e; --ink: #1c252b; --main: #3347c4; --wrong: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ground: #161c21; --raised: #202930; --line: #37434c; --faint: #a9b1b5; --ink: #ece7dc; --main: #93a5ff; --wrong: #f58275 } }
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1.25rem; background: var(--ground); color: var(--ink); font: 17px/1.55 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.6rem; margin: 0 0 .25rem } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem } p { margin: .5rem 0 } .note, td + td { color: var(--faint) }
table { border-collapse: collapse; width: 100% } td { padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); vertical-align: top }
form { display: grid; gap: .75rem } label { display: grid; gap: .25rem; color: var(--faint); font-size: .95rem }
textarea, select, input, button { font: inherit; color: var(--ink); background: var(--raised); border: 1px solid var(--line); border-radius: 6px; padding: .5rem .7rem; box-sizing: border-box; width: 100% }
button { width: auto; padding: .5rem 1.2rem; cursor: pointer } button[type=submit] { color: var(--ground); background: var(--main); border-color: var(--main) }
.row { display: flex; gap: .75rem } [hidden] { display: none !important } output { display: block; margin-top: 1rem; white-space: pre-wrap; min-height: 3rem } .wrong { color: var(--wrong) } code { font-size: .9em }
`;

const SCRIPT = `
const find = (id) => document.getElementById(id);
const headers = () => ({ "content-type": "application/json", ...(find("token").value && { authorization: "Bearer " + find("token").value }) });
const problemOf = async (answer) => (await answer.json().catch(() => undefined))?.error?.message ?? "status " + answer.status;
async function showModel() {
  const answer = await fetch("v1/models", { headers: headers() });
  find("token-label").hidden = answer.status !== 401 && !find("token").value;
  find("model").textContent = answer.ok ? (await answer.json()).data[0]?.id ?? "loading" : await problemOf(answer);
}
find("token").addEventListener("change", showModel);
showModel().catch((error) => (find("model").textContent = error.message));
const BODIES = {
  "v1/chat/completions": (text) => ({ messages: [{ role: "user", content: text }], max_tokens: 512, stream: true }),
  "v1/completions": (text) => ({ prompt: text, max_tokens: 128, stream: true }),
  "v1/embeddings": (text) => ({ input: text }),
};
let running;
find("stop").addEventListener("click", () => running?.abort());
find("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  running?.abort();
  const mine = (running = new AbortController());
  const [output, path] = [find("answer"), find("path").value];
  output.className = "";
  output.textContent = "";
  find("stop").hidden = false;
  try {
    const body = JSON.stringify(BODIES[path](find("text").value));
    const answer = await fetch(path, { method: "POST", headers: headers(), body, signal: mine.signal });
    if (!answer.ok) throw new Error(await problemOf(answer));
    if (path === "v1/embeddings") {
      const { embedding } = (await answer.json()).data[0];
      output.textContent = embedding.length + " numbers: " + embedding.slice(0, 8).map((x) => x.toFixed(4)).join(", ") + " …";
    } else await readStream(answer.body, output);
  } catch (error) {
    if (mine.signal.aborted) return;
    output.className = "wrong";
    output.append(error.message);
  } finally {
    if (running === mine) find("stop").hidden = true;
  }
});
async function readStream(body, output) {
  let rest = "";
  for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\\n\\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const { choices, error } = JSON.parse(data);
      if (error) throw new Error(error.message);
      output.append(choices[0]?.delta?.content ?? choices[0]?.text ?? "");
    }
  }
}
`;

const PATHS = [
  ["POST /v1/chat/completions", "answers messages, with tools and JSON schemas"],
  ["POST /v1/completions", "continues a text"],
  ["POST /v1/embeddings", "vectors of texts, with a model that embeds"],
  ["POST /v1/decisions", "probabilities for typed questions, in OpenAI's shape"],
  ["POST /v1/systemone", "the same, in TypeSafe's shape"],
  ["GET /v1/models", "the model's name"],
  ["GET /health", "whether the model is loaded"],
] as const;

/** The page. It has nothing of the model: its script asks for the name, with the token where one is needed. */
export const HOME_PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Ropewalk serves a model</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1 id="model">…</h1>
<p class="note">served by Ropewalk on this machine, with OpenAI's protocol</p>
<h2>Try it</h2>
<form id="form">
<label id="token-label" hidden>Token<input id="token" type="password" autocomplete="off"></label>
<label>Text<textarea id="text" rows="3" required></textarea></label>
<label>What to do<select id="path"><option value="v1/chat/completions">chat</option><option value="v1/completions">continue the text</option><option value="v1/embeddings">embed the text</option></select></label>
<div class="row"><button type="submit">Send</button><button type="button" id="stop" hidden>Stop</button></div>
</form>
<output id="answer" for="text"></output>
<h2>Paths</h2>
<table>${PATHS.map(([path, meaning]) => `<tr><td><code>${path}</code></td><td>${meaning}</td></tr>`).join("")}</table>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`;

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Its headers. No other page may show it in a frame, and it connects to this server alone. */
export const HOME_HEADERS = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; script-src ${hashOf(SCRIPT)}; style-src ${hashOf(STYLE)}; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
} as const;
