// Starts `ropewalk serve` for a test, with a tiny model that has a chat template with tools.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tinyModelBytes } from "../../examples/make_tiny_model.mjs";
import { program, withFolder } from "./program.mjs";

/** Starts the server on a free port; `use` gets its address and the process. `source`: its model, if it is another one. */
export async function serving(words, use, env = {}, source) {
  await withFolder(async (folder) => {
    const path = join(folder, "tiny.gguf");
    await writeFile(path, tinyModelBytes());
    const template = join(folder, "template.jinja");
    await writeFile(template, toolTemplate);
    const child = spawn(
      process.execPath,
      [program, "serve", ...(source ?? [path, "--chat-template", template]), "--port", "0", ...words],
      { env: { ...process.env, ...env } },
    );
    let printed = "";
    child.stderr.setEncoding("utf8").on("data", (text) => (printed += text));
    child.stdout.resume();
    const closed = once(child, "close");
    try {
      while (!/listening on (\S+)\/v1/.test(printed)) {
        if (child.exitCode !== null) throw new Error(printed);
        await Promise.race([once(child.stderr, "data"), closed]);
      }
      const [, address] = /listening on (\S+)\/v1/.exec(printed);
      await use({ address, printed: () => printed, child, closed });
    } finally {
      if (child.exitCode === null) child.kill("SIGINT");
      await closed;
    }
  });
}

export const toolTemplate = `{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

export const post = (address, path, body, headers = {}, signal = undefined) =>
  fetch(`${address}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    signal,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
