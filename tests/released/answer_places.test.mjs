// Where decide() reads the answer, in llama.cpp's chat templates: after what past answers of a conversation follow, or after a thought that is
// closed.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { AnswerPlace } from "../../build/package/runtime/model/decide/answer_place.js";
import { renderChat, renderPrompt } from "../../build/package/runtime/text/chat_template.js";
import { released } from "./files.mjs";

const folder = join(released.llama_cpp, "templates");
const tokens = { beginToken: "<bos>", endToken: "<eos>", now: new Date(2026, 5, 1) };
const [QUESTION, ANSWER] = ["Which rope?", "Hemp."];

/** Templates that can't be rendered without tools or functions. */
const NEEDS_TOOLS = [
  "CohereForAI-c4ai-command-r-plus-tool_use.jinja",
  "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja",
  "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja",
  "fireworks-ai-llama-3-firefunction-v2.jinja",
];

/** What comes before the answer where past answers are written without their thoughts. */
const AFTER_THOUGHT = {
  "ByteDance-Seed-OSS.jinja": "</seed:cot_budget_reflect>\n</seed:think>",
  "Cohere2MoE.jinja": "<|START_THINKING|><|END_THINKING|><|START_TEXT|>",
  "CohereForAI-c4ai-command-r7b-12-2024-tool_use.jinja": "<|START_THINKING|><|END_THINKING|><|START_RESPONSE|>",
  "GLM-4.6.jinja": "/nothink<|assistant|>\n<think></think>\n",
  "HuggingFaceTB-SmolLM3-3B.jinja": "assistant\n<think>\n\n</think>\n",
  "Kimi-K3.jinja": 'role="assistant"<|sep|><|open|>response<|sep|>',
  "MiniMax-M2.jinja": "ai\n<think>\n\n</think>\n\n",
  "NVIDIA-Nemotron-Nano-v2.jinja": "Assistant\n<think>\n\n</think>\n\n",
  "Qwen-QwQ-32B.jinja": "assistant\n<think>\n</think>",
  "deepseek-ai-DeepSeek-R1-Distill-Llama-8B.jinja": "<｜Assistant｜><think>\n\n</think>\n\n",
  "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B.jinja": "<｜Assistant｜><think>\n</think>",
  "deepseek-ai-DeepSeek-V3.2.jinja": "<｜Assistant｜><think></think>",
  "google-gemma-4-31B-it-interleaved.jinja": "model\n<|channel>thought\n<channel|>",
  "google-gemma-4-31B-it.jinja": "model\n<|channel>thought\n<channel|>",
  "llama-cpp-deepseek-r1.jinja": "<｜Assistant｜><think>\n\n</think>\n\n",
  "llama-cpp-rwkv-world.jinja": "Assistant: <think>\n</think>",
  "openbmb-MiniCPM5-1B.jinja": "assistant\n<think>\n\n</think>\n\n",
  "poolside-Laguna-S-2.1.jinja": "<assistant></think>",
};

const afterQuestion = (text) => text.slice(text.indexOf(QUESTION) + QUESTION.length);

for (const name of readdirSync(folder).filter((name) => name.endsWith(".jinja")))
  test(name, async () => {
    const template = { default: readFileSync(join(folder, name), "utf8") };
    const finding = AnswerPlace.of((messages, given) => renderPrompt(template, messages, { ...tokens, ...given }), {});
    if (NEEDS_TOOLS.includes(name)) return assert.rejects(finding, { code: "INVALID_FILE", field: "chat_template" });
    const place = await finding;
    const prompt = await place.prompt(QUESTION);
    const text = typeof prompt === "string" ? prompt : prompt.map((piece) => piece.text).join("");
    assert.equal(text.split(QUESTION).length, 2);
    const before = afterQuestion(text) + place.lead;
    if (name in AFTER_THOUGHT) return assert.ok(before.endsWith(AFTER_THOUGHT[name]), before);
    const messages = [
      { role: "user", content: QUESTION },
      { role: "assistant", content: ANSWER },
    ];
    const conversation = await renderChat(template, messages, { ...tokens, addGenerationPrompt: false });
    assert.equal(before, afterQuestion(conversation).split(ANSWER)[0]);
  });
