// Runs tasks for the tests, shows their results, and records violations of the Content-Security-Policy.

import * as cacheTasks from "./cache_tasks.mjs";
import * as loadingTasks from "./tasks.mjs";
import * as threadTasks from "./thread_tasks.mjs";

const tasks = { ...loadingTasks, ...cacheTasks, ...threadTasks };

const violations = [];
addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
  const isOfBrowser = blockedURI.endsWith("/favicon.ico"); // WebKit asks for it by itself
  if (!isOfBrowser) violations.push(`${violatedDirective}: ${blockedURI}`);
});

const log = document.querySelector("#log");

globalThis.violations = violations;

globalThis.runTask = async (name, ...args) => {
  const line = log.appendChild(document.createElement("li"));
  line.textContent = `${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")}) …`;
  const result = await tasks[name](...args);
  const shown = JSON.stringify(result, null, 1);
  line.appendChild(document.createElement("pre")).textContent = shown.length > 600 ? `${shown.slice(0, 600)} …` : shown;
  return result;
};
