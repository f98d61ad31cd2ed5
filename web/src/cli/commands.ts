import type { Command } from "commander";
import { addBench } from "./bench.js";
import { addChat } from "./chat.js";
import { addConvert } from "./convert.js";
import { addGenerate } from "./generate.js";
import { addInspect } from "./inspect.js";
import { addPerplexity } from "./perplexity.js";
import { addPlot } from "./plot.js";
import { addTable } from "./table.js";
import type { Terminal } from "./terminal.js";

const COMMANDS = [addInspect, addPlot, addTable, addGenerate, addChat, addPerplexity, addConvert, addBench];

/** Adds every command, in the order in which help lists them. */
export function addCommands(program: Command, terminal: () => Terminal): void {
  for (const add of COMMANDS) add(program, terminal);
}
