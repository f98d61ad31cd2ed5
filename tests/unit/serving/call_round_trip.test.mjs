// What a model writes is what is read: calls in every format, with arguments, content and reasoning drawn at random, streamed in random
// pieces.
//
// compare: --cases 20000
import assert from "node:assert/strict";
import test from "node:test";
import { answerReader } from "../../../build/package/apps/serving/calls/answer_reader.js";
import { answerFormat } from "../../../build/package/apps/serving/calls/call_formats.js";
import { markControl } from "../../../build/package/runtime/text/control_text.js";
import { FORMATS, Written } from "./call_writers.mjs";
import { Draw } from "./draw.mjs";

const SEED = Number(process.env.ROPEWALK_SEED ?? 1);
const CASES = Number(process.env.ROPEWALK_CASES ?? 50);

/** Arguments with each number as a `Written`. */
function withWrittenNumbers(text) {
  const marked = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : JSON.stringify({ number: token }),
  );
  return JSON.parse(marked, (_key, value) =>
    Object.keys(value ?? {}).join() === "number" && typeof value.number === "string"
      ? new Written(value.number)
      : value,
  );
}

/** The parts with neighbouring texts joined, and each call as one. */
function joined(parts) {
  const all = { content: "", reasoning: "", calls: [] };
  for (const part of parts) {
    if ("call" in part) all.calls.push({ name: part.call, text: "" });
    else if ("arguments" in part) all.calls.at(-1).text += part.arguments;
    else if ("content" in part) all.content += part.content;
    else if ("reasoning" in part) all.reasoning += part.reasoning;
  }
  return all;
}

/** Reads an answer in pieces, which end anywhere but inside of a control token. */
function read(format, tools, segments, draw, isMarked) {
  const reader = answerReader(answerFormat(format.template + (format.shows ?? "")), tools, false);
  const parts = [];
  const text = [];
  for (const segment of segments) {
    if (typeof segment === "string") text.push(...draw.pieces(segment));
    else if (isMarked) text.push(markControl(segment.control));
    else text.push(...draw.pieces(segment.control));
  }
  for (const piece of text) parts.push(...reader.push(piece));
  return joined([...parts, ...reader.end(false)]);
}

for (const [name, format] of Object.entries(FORMATS)) {
  test(`${name}: what is written is read`, () => {
    for (let i = 0; i < CASES; i++) {
      const draw = new Draw(`${SEED} ${name} ${i}`);
      const tools = draw.tools();
      const calls = draw.calls(tools, format);
      const markers = Object.values(FORMATS).flatMap(({ template }) => template.match(/<[^<>]+>|\[[A-Z_]+\]/g) ?? []);
      const isMarked = format.onlyControl === true || draw.chance(0.5);
      const closing =
        /<\/think>|<\/seed:think>|\[\/THINK\]|<\|END_THINKING\|>|<channel\|>|<\/think:opensource>|<\|(?:start|channel|constrain|message|end|call|return|eom)\|>/;
      const reasoning = format.reasoning === undefined || draw.chance(0.5) ? "" : draw.prose(markers, closing);
      const content =
        format.isAlone || draw.chance(0.3) ? "" : draw.prose(markers, isMarked ? closing : /^\s*<think|[<[]/);
      const segments = [
        ...(format.reasoning?.(reasoning) ?? []),
        ...(content === "" ? [] : (format.content?.(content, calls.length === 0) ?? [content])),
        ...(content !== "" && calls.length > 0 ? [format.between ?? ""] : []),
        ...(calls.length > 0 ? format.calls(calls, draw.jsonStyle(), content !== "") : []),
        ...(format.end ?? []),
      ];
      const found = read(format, tools, segments, draw, isMarked);
      const shown = `seed ${SEED}, case ${i}: ${JSON.stringify(segments)}`;
      assert.equal(found.reasoning, reasoning, shown);
      assert.equal(found.content, content, shown);
      assert.deepEqual(
        found.calls.map((call) => ({ name: call.name, given: withWrittenNumbers(call.text) })),
        calls,
        shown,
      );
    }
  });

  test(`${name}: a call that no tool has is content, whole`, () => {
    for (let i = 0; i < Math.ceil(CASES / 10); i++) {
      const draw = new Draw(`${SEED} ${name} unknown ${i}`);
      const tools = draw.tools();
      const calls = draw
        .calls(tools, format)
        .slice(0, 1)
        .map((call) => ({ ...call, name: "nothing_has_this" }));
      if (calls.length === 0) continue;
      const segments = format.calls(calls, draw.jsonStyle());
      const found = read(format, tools, segments, draw, true);
      const text = segments.filter((segment) => typeof segment === "string").join("");
      if (name === "gpt-oss") assert.ok(found.content.startsWith("to=functions.nothing_has_this {"), found.content);
      else assert.equal(found.content, text);
      assert.deepEqual(found.calls, []);
    }
  });
}
