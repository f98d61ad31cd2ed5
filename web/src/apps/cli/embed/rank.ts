// `ropewalk rank`: orders documents by how well they answer a query, with a cross-encoder.
import * as advise from "../../../core/base/advice.js";
import type { Command } from "commander";
import { fail } from "../../../core/base/errors.js";
import { load, type Ranked } from "../../../index.node.js";
import { interruptible } from "../interrupt.js";
import { modelOptions, withModel } from "../loaded_model.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { parseInteger, parseTokens } from "../options.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { ProgressBar } from "../progress_bar.js";
import { type Terminal, withProgress } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { shownText, textArguments, textLines } from "./text_arguments.js";

interface Flags extends RopeFlags, ThreadFlags, QuantizeFlags, LoraFlags {
  documents?: string;
  top?: number;
  truncate?: true;
  context?: number;
}

const EXAMPLES = `
Prints the documents, best first, with their scores and their places in the list. A score is a probability, unless the
model's config asks for the plain number.

Examples:
  ropewalk rank ./ms-marco-MiniLM-L6-v2 "how is rope made" "a rope is made of yarn" "the cat sleeps"
  ropewalk rank bge-reranker.gguf "how is rope made" --documents paragraphs.txt --top 5
  cat paragraphs.txt | ropewalk rank ./bge-reranker-v2-m3 "how is rope made" --json -`;

/** Adds `ropewalk rank`. */
export function addRank(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("rank")
    .summary("order documents by a query")
    .description("Score how well each document answers a query, with a cross-encoder, and order them by that.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .argument("<query>", "what the documents should answer")
    .argument("[documents...]", "documents; - reads stdin, a document in each line")
    .option("--documents <file>", "text file with a document in each line")
    .option("--top <n>", "print only the n best documents (default: all)", parseInteger(1))
    .option("--truncate", "cut documents that are too long")
    .option("--context <n>", "maximum tokens of query and document (default: the model's)", parseTokens(1))
    .addOption(loraOption())
    .addOption(threadOption())
    .addOption(quantizeOption());
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, query: string, documents: readonly string[], flags: Flags) =>
      interruptible((signal) => run(terminal(), model, query, documents, flags, signal)),
    );
}

async function run(
  terminal: Terminal,
  source: string,
  query: string,
  given: readonly string[],
  flags: Flags,
  signal: AbortSignal,
): Promise<void> {
  const documents = await documentsOf(given, flags.documents);
  const rw = await load({ threads: flags.threads });
  await withModel(terminal, rw, source, await modelOptions(flags, flags.context, signal), async (model) => {
    const adapters = await loadAdapters(terminal, model, flags, signal);
    const rank = (update: ProgressBar["update"]): Promise<Ranked[]> =>
      model.rank(query, documents, {
        signal,
        onProgress: ({ done, total }) => update(done, total),
        ...(flags.truncate && { truncate: true }),
        ...adapters,
      });
    const ranked = await withProgress(terminal, "Ranking", "texts", rank, documents.length);
    const best = ranked.slice(0, flags.top);
    terminal.result({
      model: model.info.name,
      query,
      documents: best.map(({ index, score }) => ({ index, score, text: documents[index] })),
    });
    const rows = best.map(({ index, score }) => [score.toFixed(4), String(index + 1), shownText(documents[index]!)]);
    terminal.print(terminal.table(rows, { head: ["score", "place", "document"], align: "rrl" }));
  });
}

function documentsOf(given: readonly string[], path: string | undefined): Promise<readonly string[]> {
  if (path === undefined)
    return given.length > 0
      ? textArguments(given)
      : fail(
          "INVALID_ARGUMENT",
          "--documents",
          "is missing",
          advise.other("name a file, or pass documents as arguments, or - for stdin"),
        );
  return given.length === 0
    ? textLines(path)
    : fail(
        "INVALID_ARGUMENT",
        "--documents",
        "can't be used with documents as arguments",
        advise.other("pass them in one way"),
      );
}
