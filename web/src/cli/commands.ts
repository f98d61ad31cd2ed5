import type { Command } from "commander";
import { addBench } from "./bench/bench.js";
import { addChat } from "./chat/chat.js";
import { addConvert } from "./convert/convert.js";
import { addGenerate } from "./generate/generate.js";
import { addInspect } from "./inspect/inspect.js";
import { addPerplexity } from "./perplexity/perplexity.js";
import { addPlot } from "./plot/plot.js";
import { addTable } from "./table.js";
import type { Terminal } from "./terminal.js";

const COMMANDS = [addInspect, addPlot, addTable, addGenerate, addChat, addPerplexity, addConvert, addBench];

/** Adds every command, in the order in which help lists them. */
export function addCommands(program: Command, terminal: () => Terminal): void {
  for (const add of COMMANDS) add(program, terminal);
}
