// What reads the calls of an answer, whatever their format is.
import type { CallFormat } from "./call_format.js";
import type { CallReader } from "./call_reading.js";
import type { CalledTools } from "./called_tools.js";
import { JsonCallReader } from "./json_calls.js";
import { NamedCallReader } from "./named_calls.js";
import { PythonCallReader } from "./python_calls.js";
import { QuotedCallReader } from "./quoted_calls.js";
import { TaggedCallReader } from "./tagged_calls.js";

export function callReader(format: CallFormat, tools: CalledTools): CallReader {
  switch (format.style) {
    case "json":
      return new JsonCallReader(format, tools);
    case "named":
      return new NamedCallReader(format, tools);
    case "tagged":
      return new TaggedCallReader(format, tools);
    case "python":
      return new PythonCallReader(format, tools);
    case "quoted":
      return new QuotedCallReader(format, tools);
  }
}
