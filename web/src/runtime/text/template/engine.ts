// What renders a chat template. It is imported when the first one is rendered, so that an app without one doesn't download it.
export { Budget } from "./values/budget.js";
export { globalsOf, TemplateException } from "./globals.js";
export { runTemplate } from "./interpreter.js";
export { programOf } from "./template.js";
export { valueOf } from "./values/inputs.js";
