// Headings under which the help lists the options of a command that has many. Those without one stand under "Options:".

/** In the order of the help. */
export const GROUPS = {
  common: "Common options:",
  messages: "Messages:",
  ending: "Where the text ends:",
  sampling: "Which token comes next:",
  format: "Form of the text:",
  memory: "Memory and speed:",
  rope: "RoPE:",
} as const;
