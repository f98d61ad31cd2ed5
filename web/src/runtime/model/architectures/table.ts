// The table of supported architectures, whose rows are in the files of this folder, one for each family. Sources: the
// modeling code of transformers and, for GGUF, of llama.cpp.
import * as advise from "../../../core/base/advice.js";
import { nearest } from "../../../core/base/options.js";
import { named } from "../../files/errors.js";
import type { ConfigReader } from "../config/config_reader.js";
import type { Architecture } from "./parts/architecture.js";
import { COHERE_ROWS } from "./cohere.js";
import { DEEPSEEK_ROWS } from "./deepseek.js";
import { ENCODER_ROWS } from "./encoders.js";
import { GEMMA4_ROWS } from "./gemma4.js";
import { GEMMA_ROWS } from "./gemma.js";
import { GLM_ROWS } from "./glm.js";
import { GPT_ROWS } from "./gpt.js";
import { GPT_OSS_ROWS } from "./gpt_oss.js";
import { HYBRID_ROWS } from "./hybrids.js";
import { LLAMA4_ROWS } from "./llama4.js";
import { LLAMA_ROWS } from "./llama.js";
import { MAMBA_ROWS } from "./mamba.js";
import { MIXTURE_ROWS } from "./mixtures.js";
import { NEMOTRON_H_ROWS } from "./nemotron_h.js";
import { OLMO_ROWS } from "./olmo.js";
import { EXAONE_HUNYUAN_ROWS } from "./exaone_hunyuan.js";
import { PHI_ROWS } from "./phi.js";
import { QWEN_ROWS } from "./qwen.js";
import { RWKV_ROWS } from "./rwkv.js";
import { missingFor } from "./unsupported.js";

/** All supported architectures. @internal */
export const ARCHITECTURES: readonly Architecture[] = [
  ...LLAMA_ROWS,
  ...QWEN_ROWS,
  ...GEMMA_ROWS,
  ...PHI_ROWS,
  ...GPT_ROWS,
  ...OLMO_ROWS,
  ...GLM_ROWS,
  ...COHERE_ROWS,
  ...EXAONE_HUNYUAN_ROWS,
  ...MIXTURE_ROWS,
  ...GPT_OSS_ROWS,
  ...LLAMA4_ROWS,
  ...DEEPSEEK_ROWS,
  ...GEMMA4_ROWS,
  ...HYBRID_ROWS,
  ...MAMBA_ROWS,
  ...NEMOTRON_H_ROWS,
  ...RWKV_ROWS,
  ...ENCODER_ROWS,
];

const namesOf = ({ gguf, huggingFace }: Architecture, isGguf: boolean): readonly string[] =>
  isGguf ? gguf : huggingFace;

/** The row of the table for a model; undefined for an architecture that isn't supported. @internal */
export function findArchitecture({ architecture, isGguf }: ConfigReader): Architecture | undefined {
  return ARCHITECTURES.find((row) => namesOf(row, isGguf).includes(architecture));
}

/** The row of the table for a model. Throws UNSUPPORTED_MODEL for an architecture that isn't supported. @internal */
export function architectureOf(reader: ConfigReader): Architecture {
  const field = reader.isGguf ? "general.architecture" : "model_type";
  return findArchitecture(reader) ?? reader.refuse("UNSUPPORTED_MODEL", field, ...whyUnsupported(reader));
}

/** Why an architecture that isn't in the table can't run, and what to do. @internal */
export function whyUnsupported({
  architecture,
  isGguf,
}: ConfigReader): [problem: string, advised: Partial<advise.Advised>] {
  const missing = missingFor(architecture);
  const names = ARCHITECTURES.flatMap((row) => namesOf(row, isGguf));
  const near = missing === undefined ? nearest(architecture, names, architecture.length / 3) : undefined;
  const reason = missing === undefined ? "" : `: ${missing}`;
  const problem = `architecture ${named(architecture)} is not supported${reason} (docs/architectures.md lists those that are)`;
  return [problem, near === undefined ? {} : advise.spell({ name: near })];
}
