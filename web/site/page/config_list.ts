// The list of configs in a panel's form: those of well-known models, and those of files that the user chooses or drops on the panel.
import type { Ropewalk } from "ropewalk";
import { readAddress } from "./address.js";
import { bundledConfigs, type NamedConfig, readConfigs } from "./configs.js";
import { controlOf } from "./controls.js";

interface Panel {
  readonly section: HTMLElement;
  readonly form: HTMLFormElement;
  readonly rw: Ropewalk;
  readonly redraw: () => void;
}

/**
 * Fills the control `config` of a form, and reads files of its control `file`, if it has one, and those dropped on the panel. The HTML's one
 * option names the config that is chosen at first; further options of the HTML stay.
 *
 * @returns a function that returns the chosen config; undefined for an option of the HTML that is no config. It rejects once if a file can't
 * be read.
 */
export function listConfigs({ section, form, rw, redraw }: Panel): () => Promise<NamedConfig | undefined> {
  const list = controlOf<HTMLSelectElement>(form, "config");
  const configs = new Map(bundledConfigs.map((config) => [config.id, config]));
  const first = list.options[0]!.value;
  const others = [...list.options].filter(({ value }) => !configs.has(value));
  const options = bundledConfigs.map(({ id, name }) => new Option(name, id, id === first, id === first));
  list.replaceChildren(...options, ...others);
  readAddress(section.id, form); // the options weren't there before

  let reading: Promise<void> | undefined;
  const read = (files: readonly File[]): void => {
    if (files.length === 0) return;
    reading = readConfigs(rw, files).then((found) => {
      for (const config of found) {
        if (!configs.has(config.id)) list.prepend(new Option(config.name, config.id));
        configs.set(config.id, config);
      }
      list.value = found[0]!.id;
      list.dispatchEvent(new Event("input", { bubbles: true }));
    });
    reading.catch(() => undefined); // the next drawing reports it
    redraw();
  };
  const file = form.elements.namedItem("file");
  if (file instanceof HTMLInputElement) {
    file.addEventListener("change", () => {
      read([...(file.files ?? [])]);
      file.value = ""; // so that the same file can be chosen again
    });
    section.addEventListener("dragover", (event) => event.preventDefault());
    section.addEventListener("drop", (event) => {
      event.preventDefault();
      read([...(event.dataTransfer?.files ?? [])]);
    });
  }
  return async () => {
    const current = reading;
    reading = undefined;
    await current;
    return configs.get(list.value);
  };
}
