// The variables with the date that llama.cpp's server gives a chat template.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `datetime` as "Nov 05 2026" and `date_string` as "05 Nov 2026", in the local time zone. */
export function dateVariables(now: Date): { datetime: string; date_string: string } {
  const day = String(now.getDate()).padStart(2, "0");
  const month = MONTHS[now.getMonth()]!;
  const year = now.getFullYear();
  return { datetime: `${month} ${day} ${year}`, date_string: `${day} ${month} ${year}` };
}
