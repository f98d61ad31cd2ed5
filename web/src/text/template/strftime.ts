// Formats dates like Python's strftime, for chat templates.

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const two = (number: number) => String(number).padStart(2, "0");
const hour12 = (date: Date) => date.getHours() % 12 || 12;

const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getFullYear()).padStart(4, "0"),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()]!,
  b: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  d: (date) => two(date.getDate()),
  j: (date) => String(dayOfYear(date)).padStart(3, "0"),
  A: (date) => DAYS[date.getDay()]!,
  a: (date) => DAYS[date.getDay()]!.slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(hour12(date)),
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  "%": () => "%",
};

/**
 * Formats a date like Python's strftime, always in English, as models are trained on it. `%-d` leaves out leading zeros. Unsupported
 * codes are left unchanged.
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([A-Za-z%])/g, (code, minus: string, letter: string) => {
    const written = FIELDS[letter]?.(date);
    if (written === undefined) return code;
    return minus === "" ? written : written.replace(/^0+(?=\d)/, "");
  });
}

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (day - Date.UTC(date.getFullYear(), 0, 0)) / 86400000;
}
