// `ropewalk decide`: typed questions about a text, answered with probabilities as bars.
import type { Command } from "commander";
import { withFieldNames } from "../../../core/base/field_names.js";
import { load } from "../../../index.node.js";
import { writeOrdered } from "../../decisions/ordered_json.js";
import { optionNamesOf, type OrderedAnswer, withOrder } from "../../decisions/ordered_answers.js";
import { interruptible } from "../interrupt.js";
import {
  type ChatTemplateFlags,
  chatTemplateOption,
  modelOptions,
  requireTemplate,
  requireText,
  withModel,
} from "../loaded_model.js";
import { type KvFlags, kvOption } from "../kv_option.js";
import { loadAdapters, type LoraFlags, loraOption } from "../lora_option.js";
import { parseInteger, parseNumberAbove, parseTokens, repeatable } from "../options.js";
import { type QuantizeFlags, quantizeOption } from "../quantize_option.js";
import { addRopeOptions, type RopeFlags } from "../rope_options.js";
import type { Terminal } from "../terminal.js";
import { type ThreadFlags, threadOption } from "../thread_option.js";
import { shownText } from "../embed/text_arguments.js";
import { type QuestionFlags, questionsFrom, stateFrom } from "./questions_of_flags.js";

interface Flags extends QuestionFlags, RopeFlags, ThreadFlags, KvFlags, QuantizeFlags, LoraFlags, ChatTemplateFlags {
  permutations?: number;
  temperature?: number;
  templateName?: string;
  context?: number;
}

const EXAMPLES = `
The model reads the text and writes nothing. Probabilities are among the answers that are allowed. Label mass is how much
of all that the model could have said these are: if it is near 0, the probabilities say little.

Examples:
  ropewalk decide chat.gguf --state "I was charged twice" --question "What is it about?" --choice billing --choice "bug=something is broken" --choice other
  ropewalk decide chat.gguf --state "It burns!" --question "How urgent is it?" --level "can wait" --level "this week" --level now
  cat mail.txt | ropewalk decide chat.gguf --state - --question "Is the writer angry?" --permutations 2
  ropewalk decide chat.gguf --state-file order.json --questions questions.json --json`;

/** Adds `ropewalk decide`. */
export function addDecide(program: Command, terminal: () => Terminal): void {
  const command = program
    .command("decide")
    .summary("answer typed questions with probabilities")
    .description("Answer typed questions about a text with a probability for each allowed answer, without generating.")
    .argument("<model>", "GGUF file, folder with safetensors and config.json, URL of either, or name on the Hub")
    .option("--state <text>", "text to decide about; - reads stdin")
    .option("--state-file <file>", "file with that text; a file that ends in .json is JSON")
    .option("--question <text>", "what to ask; alone, it is answered with yes or no")
    .option("--choice <name[=description]>", "an option to choose from, 2 to 255; repeatable", repeatable(String))
    .option("--level <text>", "what a level of a score means, lowest first, 2 to 10; repeatable", repeatable(String))
    .option("--questions <file>", "JSON with several questions by name, as model.decide() has them")
    .option(
      "--permutations <n>",
      "orders of the options, whose probabilities are averaged (default: 1)",
      parseInteger(1, 510),
    )
    .option("--temperature <t>", "above 1 the probabilities are flatter (default: 1)", parseNumberAbove(0))
    .option("--context <n>", "maximum tokens of a prompt (default: the model's)", parseTokens(1))
    .addOption(chatTemplateOption())
    .option("--template-name <name>", "which of the model's chat templates to use (default: default)")
    .addOption(loraOption())
    .addOption(threadOption())
    .addOption(kvOption())
    .addOption(quantizeOption());
  addRopeOptions(command)
    .addHelpText("after", EXAMPLES)
    .action((model: string, flags: Flags) => interruptible((signal) => run(terminal(), model, flags, signal)));
}

async function run(terminal: Terminal, source: string, flags: Flags, signal: AbortSignal): Promise<void> {
  const questions = await questionsFrom(flags);
  const state = await stateFrom(flags);
  const { permutations, temperature, templateName } = flags;
  const rw = await load({ threads: flags.threads });
  await withModel(terminal, rw, source, await modelOptions(flags, flags.context, signal), async (model) => {
    if (!model.info.decides) {
      requireText(model);
      requireTemplate(model, "use a model that chats");
    }
    const options = {
      signal,
      onWarning: (warning: string) => terminal.note(`warning: ${warning}`),
      ...(permutations !== undefined && { permutations }),
      ...(temperature !== undefined && { temperature }),
      ...(templateName !== undefined && { templateName }),
      ...(await loadAdapters(terminal, model, flags, signal)),
    };
    const decisions = await withFieldNames(flagOf(flags), () => model.decide(state, questions, options));
    const ordered = withOrder(decisions, questions);
    terminal.resultText(writeOrdered({ model: model.info.name, ...ordered }, "  "));
    show(terminal, ordered.answers, optionNamesOf(questions));
    terminal.note(`${decisions.usage.input_tokens} tokens read, none generated`);
  });
}

/** From the fields of decide() to the options that were given. */
const flagOf =
  ({ choice, questions }: Flags) =>
  (field: string): string => {
    if (questions !== undefined || !field.startsWith("questions.")) return field;
    if (field.includes(".instructions")) return "--question";
    return choice === undefined ? "--level" : "--choice";
  };

function show(
  terminal: Terminal,
  answers: ReadonlyMap<string, OrderedAnswer>,
  names: ReadonlyMap<string, readonly string[]>,
): void {
  for (const [name, answer] of answers) {
    const { type, confidence, label_mass } = answer;
    const title =
      type === "choice" ? answer.choice : type === "score" ? answer.score.toFixed(3) : answer.probability.toFixed(3);
    const numbers = `confidence ${confidence.toFixed(3)}, label mass ${label_mass.toFixed(3)}`;
    terminal.print(`${terminal.style("bold", `${shownText(name)}: ${shownText(title)}`)}  ${numbers}`);
    const own = names.get(name)!;
    const values = numbersOf(answer);
    terminal.print(
      terminal.table(own.map((option, i) => [`  ${shownText(option)}`, bar(values[i]!), values[i]!.toFixed(3)])),
    );
  }
}

function numbersOf(answer: OrderedAnswer): readonly number[] {
  if (answer.type === "choice") return [...answer.probabilities.values()];
  return answer.type === "score" ? answer.probabilities : [answer.probability, answer.probabilities.false];
}

/** Characters of a bar of probability 1. */
const WIDTH = 32;

const bar = (probability: number): string => {
  const filled = Math.round(probability * WIDTH);
  return "█".repeat(filled) + "·".repeat(WIDTH - filled);
};
