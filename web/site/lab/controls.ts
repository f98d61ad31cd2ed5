// Reads and writes the controls of a panel's form.

/** The value of a named control: a number for range inputs. */
export function numberOf(form: HTMLFormElement, name: string): number {
  return Number(textOf(form, name));
}

/** The value of a named control. */
export function textOf(form: HTMLFormElement, name: string): string {
  return (form.elements.namedItem(name) as HTMLInputElement | HTMLSelectElement).value;
}

/** Whether a named checkbox is checked and enabled. */
export function isChecked(form: HTMLFormElement, name: string): boolean {
  const box = form.elements.namedItem(name) as HTMLInputElement;
  return box.checked && !box.disabled;
}

/** Sets a range input as a user would, so that the panel draws and the address changes. */
export function setRange(form: HTMLFormElement, name: string, value: number): void {
  const range = form.elements.namedItem(name) as HTMLInputElement;
  range.value = String(value);
  range.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Writes texts into the outputs of a form, by their `data-of`. Range inputs get them as their value in words. */
export function writeOutputs(form: HTMLFormElement, texts: Record<string, string>): void {
  for (const output of form.querySelectorAll("output")) {
    const name = output.dataset["of"] ?? "";
    output.textContent = texts[name] ?? "";
    (form.elements.namedItem(name) as HTMLInputElement | null)?.setAttribute("aria-valuetext", output.textContent);
  }
}
