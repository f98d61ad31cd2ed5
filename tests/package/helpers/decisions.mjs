// Decisions by their definition: the prompt of each question alone in a new session, and a softmax over its labels.
import { sessionsOf } from "./sessions.mjs";

export const CHAT_TEMPLATE = `{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;

const CHARACTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHNYSQ0123 \n:.-<|>"{}'];
const ADDED = ["<unk>", "<|im_start|>", "<|im_end|>"];

/** The tokenizer.json of 64 tokens at most: characters, and words if `hasWords`; without them, yes and no have several tokens. */
export function smallTokenizer(hasWords) {
  const words = hasWords ? ["ye", "yes", "no", "Ye", "Yes", "No"] : [];
  const vocab = Object.fromEntries([...ADDED, ...CHARACTERS, ...words].map((token, id) => [token, id]));
  const merges = hasWords ? ["y e", "ye s", "n o", "Y e", "Ye s", "N o"] : [];
  return {
    version: "1.0",
    added_tokens: ADDED.map((content, id) => ({ id, content, special: true, normalized: false })),
    model: { type: "BPE", unk_token: "<unk>", fuse_unk: false, vocab, merges },
  };
}

/** Python's json.dumps(), of values without numbers that Python writes otherwise. */
function written(value) {
  if (typeof value === "string") return value;
  const json = (item) => {
    if (Array.isArray(item)) return `[${item.map(json).join(", ")}]`;
    if (typeof item !== "object" || item === null) return JSON.stringify(item);
    const entries = item instanceof Map ? [...item] : Object.entries(item);
    return `{${entries.map(([key, own]) => `${JSON.stringify(key)}: ${json(own)}`).join(", ")}}`;
  };
  return json(value);
}

const onOwnLines = (text) => text.split("\n").join("\n  ");
const optionsOf = ({ type, criteria }) => {
  if (type === "score") return criteria.map((level, i) => [String(i), level]);
  if (type !== "choice") return ["true", "false"].map((name) => [name, criteria?.[name]]);
  return criteria instanceof Map || Array.isArray(criteria) ? [...criteria] : Object.entries(criteria);
};
const ASKED = { choice: "Which option fits best?", score: "Which level fits best?" };

/** What docs/apps/decisions.md says of the prompt. */
export function promptOf(state, question, order) {
  const { type, instructions = ASKED[type] ?? "Which is true, yes or no?" } = question;
  const options = optionsOf(question);
  const label = (option) =>
    type === "choice"
      ? "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[order.indexOf(option)]
      : type === "score"
        ? String(option)
        : ["yes", "no"][option];
  const lines = order.flatMap((option) => {
    const [name, description] = options[option];
    const text = description === undefined || description === null ? undefined : onOwnLines(written(description));
    if (type === "choice") return [`${label(option)}: ${onOwnLines(name)}${text === undefined ? "" : ` - ${text}`}`];
    return text === undefined ? [] : [`${label(option)}: ${text}`];
  });
  const last = { choice: "Answer with one letter only.", score: "Answer with one number only." };
  return [
    `State: ${onOwnLines(written(state))}`,
    "",
    `Question: ${onOwnLines(written(instructions))}`,
    ...lines,
    last[type] ?? `Answer ${order.map(label).join(" or ")} only.`,
  ].join("\n");
}

/** Orders of the options: the given one, its reverse, and both from other options on, at most all that differ. */
export function ordersOf(count, given) {
  const most = Math.min(given, count === 2 ? 2 : 2 * count);
  const all = [];
  for (let i = 0; i < most; i++) {
    const order = Array.from({ length: count }, (_, at) => (i % 2 === 0 ? at : count - 1 - at));
    const from = Math.floor((Math.floor(i / 2) * count) / Math.ceil(most / 2));
    all.push([...order.slice(from), ...order.slice(0, from)]);
  }
  return all;
}

/**
 * ln p of the labels of each option of a question, in each order: from new sessions.
 * @param tokensOf - the tokens of a label
 */
export async function logprobsOf(model, state, question, { permutations = 1, tokensOf }) {
  const { withSession } = sessionsOf(model);
  const count = optionsOf(question).length;
  const all = [];
  for (const order of ordersOf(count, permutations)) {
    const messages = [{ role: "user", content: promptOf(state, question, order) }];
    const prompt = await model.promptTokens(messages, { parseSpecial: false });
    const own = [];
    for (let option = 0; option < count; option++) {
      const texts =
        question.type === "choice"
          ? ["ABCDEFGHIJKLMNOPQRSTUVWXYZ"[order.indexOf(option)]]
          : question.type === "score"
            ? [String(option)]
            : [
                ["yes", "Yes"],
                ["no", "No"],
              ][option];
      const logprobs = [];
      for (const text of texts) {
        const label = tokensOf(text);
        let sum = 0;
        for (const [i, token] of label.entries())
          sum += await withSession(
            async (session) => {
              await session.append([...prompt, ...label.slice(0, i)]);
              return session.logprobOf(token);
            },
            { contextLength: 2048 },
          );
        logprobs.push(sum);
      }
      own.push(logprobs);
    }
    all.push(own);
  }
  return all;
}

/** Probabilities and the share of all answers, by the definition in f64. */
export function defined(logprobs, temperature) {
  const orders = logprobs.map((options) => {
    const weights = options.map((own) => own.reduce((sum, logprob) => sum + Math.exp(logprob / temperature), 0));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return {
      probabilities: weights.map((weight) => weight / total),
      mass: options.flat().reduce((sum, lp) => sum + Math.exp(lp), 0),
    };
  });
  const mean = (of) => orders.reduce((sum, order) => sum + of(order), 0) / orders.length;
  return {
    probabilities: orders[0].probabilities.map((_, i) => mean(({ probabilities }) => probabilities[i])),
    mass: mean(({ mass }) => mass),
  };
}

/** The probabilities of an answer, in the order of its options. */
export const probabilitiesOf = (answer, question) =>
  question.type === "score" ? answer.probabilities : optionsOf(question).map(([name]) => answer.probabilities[name]);
