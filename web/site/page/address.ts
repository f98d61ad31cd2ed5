// The state of a form is in the page's address, so that any view can be linked: ?clocks.config=gemma-3-1b&clocks.position=1200. Only values
// that differ from those of the page's HTML are written.

/** Browsers reject many changes of the address in a short time: Safari more than 100 in 30 s. */
const PAUSE_MS = 350;

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/** Fills the named controls of a form from the address. A value that a control doesn't have is ignored. */
export function readAddress(id: string, form: HTMLFormElement): void {
  const parameters = new URLSearchParams(location.search);
  for (const control of controlsOf(form)) {
    const value = parameters.get(`${id}.${control.name}`);
    if (value !== null) setValue(control, value);
  }
}

/** Writes the values of a form into the address. */
export function writeAddress(id: string, form: HTMLFormElement): void {
  for (const control of controlsOf(form)) {
    if (control instanceof HTMLInputElement && control.type === "radio" && !control.checked) continue;
    const name = `${id}.${control.name}`;
    changes.set(name, valueOf(control) === defaultOf(control) ? undefined : valueOf(control));
  }
  changed = id;
  timer ??= setTimeout(writeChanges, PAUSE_MS);
}

let changed = "";
const changes = new Map<string, string | undefined>();
let timer: ReturnType<typeof setTimeout> | undefined;

function writeChanges(): void {
  timer = undefined;
  const url = new URL(location.href);
  for (const [name, value] of changes) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  changes.clear();
  if (document.querySelector(`.panel#${changed}`) !== null) url.hash = changed; // the link leads to the panel
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

function controlsOf(form: HTMLFormElement): Control[] {
  const isKept = (control: Element): control is Control =>
    (control instanceof HTMLInputElement && control.type !== "file") ||
    control instanceof HTMLSelectElement ||
    control instanceof HTMLTextAreaElement;
  return [...form.elements].filter(isKept).filter(({ name }) => name !== "");
}

function valueOf(control: Control): string {
  return control instanceof HTMLInputElement && control.type === "checkbox" ? String(control.checked) : control.value;
}

function defaultOf(control: Control): string {
  if (control instanceof HTMLSelectElement) {
    const options = [...control.options];
    return (options.find(({ defaultSelected }) => defaultSelected) ?? options[0])?.value ?? "";
  }
  if (control instanceof HTMLInputElement && control.type === "checkbox") return String(control.defaultChecked);
  if (control instanceof HTMLInputElement && control.type === "radio")
    return control.defaultChecked ? control.value : "";
  return control.defaultValue;
}

function setValue(control: Control, value: string): void {
  if (control instanceof HTMLSelectElement) {
    if ([...control.options].some((option) => option.value === value)) control.value = value;
  } else if (control instanceof HTMLInputElement && control.type === "checkbox") {
    control.checked = value === "true";
  } else if (control instanceof HTMLInputElement && control.type === "radio") {
    control.checked = control.value === value;
  } else {
    control.value = value; // a number out of range is clamped by range inputs, and reported by the others
  }
}
