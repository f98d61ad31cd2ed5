// The arena's results as Markdown tables.
import { mean, deviation, table } from "../small_model/tables.mjs";
import { methods } from "./methods.mjs";
import { droppedTasks } from "./plan.mjs";
import { bySeed, cellsWith, measuredOf, ofSharedSeeds, present, shareTasks } from "./summary.mjs";
import { tasks } from "./tasks.mjs";
import { SPANS } from "./tasks/perplexity.mjs";

/** Mean and standard deviation over seeds; empty if there is none. */
function cellText(found, digits = 2) {
  const known = found.filter(Number.isFinite);
  if (known.length === 0) return "";
  const spread = deviation(known);
  const shown = (value) => (value < 100 ? value.toFixed(digits) : value.toPrecision(3).replace("e+", "e"));
  return spread === undefined ? shown(mean(known)) : `${shown(mean(known))} ± ${shown(spread)}`;
}

const columnsOf = (multiples, trained) =>
  multiples.map((multiple) => `${multiple}× (${Math.round(multiple * trained)})`);

/**
 * The tables of a model: `{ key, title, about, text }[]`, without those of tasks that it can't do in its window.
 * @param cells - all cells.
 * @param entry - the model's, with its trained length.
 */
export function tablesOf(cells, entry) {
  const own = measuredOf(cells, entry.name);
  const [weights] = Object.keys(entry.weights);
  const first = own.filter((cell) => cell.weights === weights && cell.cache === "f16");
  const dropped = droppedTasks(cells, entry);
  const byLength = (task, value) => {
    const of = ofSharedSeeds(first.filter((cell) => cell.task === task));
    const multiples = present(of, "multiple");
    const names = present(of, "method", Object.keys(methods));
    const rows = names.map((method) => [
      methods[method].label,
      ...multiples.map((multiple) => cellText(bySeed(of, { method, multiple }, value))),
    ]);
    const isEmpty = rows.every(([, ...texts]) => texts.every((text) => text === ""));
    return isEmpty ? undefined : table("", columnsOf(multiples, entry.trained), rows);
  };
  const othersHave = (task) =>
    own.some((cell) => cell.task === task && (cell.weights !== weights || cell.cache !== "f16"));
  const parts = [
    { key: "loss", title: "Loss by length", about: "nats per token", text: byLength("perplexity", "loss") },
    { key: "spans", title: "Loss by position", ...spanTable(first, entry) },
    {
      key: "long_ppl",
      title: "LongPPL",
      about: "perplexity of the tokens that need a long context",
      text: byLength("perplexity", "longPpl"),
    },
    ...shareTasks
      .filter((task) => !(task in dropped))
      .map((task) => ({
        key: task,
        title: capital(tasks[task].label),
        about: "share of right answers",
        text: byLength(task, "share"),
      })),
    {
      key: "short",
      title: "What short texts pay",
      about: `texts of ${Math.round(entry.inside * entry.trained)} tokens`,
      text: shortTable(first, entry),
    },
    {
      key: "setups",
      title: "Caches and weights",
      about: `loss in nats per token${othersHave("multi_key") ? ", and the share of needles found" : ""}`,
      text: setupTable(own, entry),
    },
  ];
  return parts.filter(({ text }) => text !== undefined);
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** Loss in each part of the longest texts. */
function spanTable(cells, { trained }) {
  const measured = cells.filter(({ task }) => task === "perplexity");
  const multiple = Math.max(...measured.map((cell) => cell.multiple));
  const of = ofSharedSeeds(measured.filter((cell) => cell.multiple === multiple));
  if (of.length === 0) return {};
  const length = Math.round(multiple * trained);
  const at = (span) => Math.ceil((span * length) / SPANS);
  const spans = [...Array(SPANS).keys()];
  const rows = present(of, "method", Object.keys(methods)).map((method) => {
    const results = cellsWith(of, { method }).map(({ result }) => result.bySpan);
    return [methods[method].label, ...spans.map((span) => cellText(results.map((bySpan) => bySpan[span])))];
  });
  const columns = spans.map((span) => `${at(span)} to ${at(span + 1) - 1}`);
  return { about: `nats per token, in texts of ${length} tokens`, text: table("", columns, rows) };
}

/** Loss and found needles in texts inside the window, under methods that are set up for longer ones. */
function shortTable(cells, { inside }) {
  const of = ofSharedSeeds(cells.filter(({ task }) => tasks[task].short));
  if (of.length === 0) return undefined;
  const multiples = present(of, "multiple").filter((multiple) => multiple > 1);
  const measured = [
    { what: "loss", task: "short_perplexity", value: "loss" },
    { what: "needles", task: "short_multi_key", value: "share" },
  ].filter(({ task }) => of.some((cell) => cell.task === task));
  const rows = present(of, "method", Object.keys(methods)).map((method) => {
    const at = method === "none" ? multiples.map(() => inside) : multiples;
    return [
      methods[method].label,
      ...measured.flatMap(({ task, value }) =>
        at.map((multiple) => cellText(bySeed(of, { method, multiple, task }, value))),
      ),
    ];
  });
  const columns = measured.flatMap(({ what }) => multiples.map((multiple) => `${what}, set up for ${multiple}×`));
  return table("", columns, rows);
}

/** The default setup beside other caches and weights, over the seeds that all of them have. */
function setupTable(cells, { weights, trained }) {
  const pairs = cells.map((cell) => [cell.weights, cell.cache]);
  const setups = [...new Map(pairs.map((pair) => [JSON.stringify(pair), pair])).values()];
  if (setups.length === 1) return undefined;
  const [usual] = Object.keys(weights);
  const others = cells.filter((cell) => cell.weights !== usual || cell.cache !== "f16");
  const multiples = present(others, "multiple");
  const compared = cells.filter(({ method, multiple, task }) =>
    others.some((other) => other.method === method && other.multiple === multiple && other.task === task),
  );
  const shared = multiples.flatMap((multiple) => ofSharedSeeds(compared.filter((cell) => cell.multiple === multiple)));
  const measured = ["perplexity", "multi_key"].filter((task) => others.some((cell) => cell.task === task));
  const rows = present(others, "method", Object.keys(methods)).flatMap((method) =>
    setups.sort().map(([format, cache]) => [
      `${methods[method].label}, weights ${format}, cache ${cache}`,
      ...measured.flatMap((task) =>
        multiples.map((multiple) => {
          const of = { weights: format, cache, method, multiple, task };
          return cellText(bySeed(shared, of, task === "perplexity" ? "loss" : "share"), task === "perplexity" ? 3 : 2);
        }),
      ),
    ]),
  );
  const filled = rows.filter(([, ...values]) => values.some((value) => value !== ""));
  const columns = measured.flatMap((task) =>
    columnsOf(multiples, trained).map((column) => `${task === "perplexity" ? "loss" : "needles"}, ${column}`),
  );
  return table("", columns, filled);
}
