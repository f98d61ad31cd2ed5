// Reads and changes the named controls of a panel's form.

/** A control of a form by its name. @throws Error if the form has none */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as querySelector<T>()
export function controlOf<T extends HTMLInputElement | HTMLSelectElement = HTMLInputElement>(
  form: HTMLFormElement,
  name: string,
): T {
  const control = form.elements.namedItem(name);
  if (!(control instanceof HTMLElement)) throw new Error(`the form has no control "${name}"`);
  return control as T;
}

/** The number in a control. */
export function numberIn(form: HTMLFormElement, name: string): number {
  return Number(controlOf(form, name).value);
}

/** The chosen value of radio buttons, or the value of a list. */
export function choiceIn(form: HTMLFormElement, name: string): string {
  return (form.elements.namedItem(name) as RadioNodeList | HTMLSelectElement).value;
}

/** Sets a range to the nearest value that it has, and reports the change as the user's own would be. */
export function changeTo(control: HTMLInputElement, value: number): void {
  const before = control.value;
  control.value = String(value);
  if (control.value !== before) control.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Writes into the `<output data-of="name">` elements of a form. */
export function showOutputs(form: HTMLFormElement, texts: Readonly<Record<string, string>>): void {
  for (const output of form.querySelectorAll("output")) output.textContent = texts[output.dataset["of"] ?? ""] ?? "";
}
