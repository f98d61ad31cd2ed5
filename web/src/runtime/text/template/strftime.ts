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

/** A number with its usual width and padding, or a text. */
type Field = readonly [value: number, width: number, padding: "0" | " "] | string;

const number = (value: number, width = 2, padding: "0" | " " = "0"): Field => [value, width, padding];
const hour12 = (date: Date): number => date.getHours() % 12 || 12;
/** The day of the week with Monday as 0. */
const afterMonday = (date: Date): number => (date.getDay() + 6) % 7;

const FIELDS: Readonly<Record<string, (date: Date) => Field>> = {
  Y: (date) => number(date.getFullYear(), 1),
  C: (date) => number(Math.floor(date.getFullYear() / 100)),
  y: (date) => number(date.getFullYear() % 100),
  G: (date) => number(weekOfIso(date).year, 1),
  g: (date) => number(weekOfIso(date).year % 100),
  m: (date) => number(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()]!,
  b: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  h: (date) => MONTHS[date.getMonth()]!.slice(0, 3),
  d: (date) => number(date.getDate()),
  e: (date) => number(date.getDate(), 2, " "),
  j: (date) => number(dayOfYear(date), 3),
  A: (date) => DAYS[date.getDay()]!,
  a: (date) => DAYS[date.getDay()]!.slice(0, 3),
  u: (date) => number(date.getDay() || 7, 1),
  w: (date) => number(date.getDay(), 1),
  U: (date) => number(Math.floor((dayOfYear(date) + 6 - date.getDay()) / 7)),
  W: (date) => number(Math.floor((dayOfYear(date) + 6 - afterMonday(date)) / 7)),
  V: (date) => number(weekOfIso(date).week),
  H: (date) => number(date.getHours()),
  k: (date) => number(date.getHours(), 2, " "),
  I: (date) => number(hour12(date)),
  l: (date) => number(hour12(date), 2, " "),
  p: (date) => (date.getHours() < 12 ? "AM" : "PM"),
  P: (date) => (date.getHours() < 12 ? "am" : "pm"),
  M: (date) => number(date.getMinutes()),
  S: (date) => number(date.getSeconds()),
  s: (date) => number(Math.floor(date.getTime() / 1000), 1),
  f: (date) => String(date.getMilliseconds() * 1000).padStart(6, "0"),
  z: () => "", // of a time without a zone, which strftime_now gives
  Z: () => "",
  n: () => "\n",
  t: () => "\t",
  "%": () => "%",
  c: (date) => strftime(date, "%a %b %e %H:%M:%S %Y"),
  D: (date) => strftime(date, "%m/%d/%y"),
  x: (date) => strftime(date, "%m/%d/%y"),
  F: (date) => strftime(date, "%Y-%m-%d"),
  R: (date) => strftime(date, "%H:%M"),
  r: (date) => strftime(date, "%I:%M:%S %p"),
  T: (date) => strftime(date, "%H:%M:%S"),
  X: (date) => strftime(date, "%H:%M:%S"),
};

/**
 * Formats a date like Python's strftime on Linux (glibc), always in English, as models are trained on it. Codes may have one of glibc's
 * flags: `-` (no padding), `_` (spaces), `0` (zeros), `^` (capitals). Codes that glibc doesn't have are left unchanged, as there.
 */
export function strftime(date: Date, format: string): string {
  return format.replace(/%([-_0^]?)([A-Za-z%])/g, (code, flag: string, letter: string) => {
    const field = FIELDS[letter]?.(date);
    if (field === undefined) return code;
    if (typeof field === "string") return flag === "^" ? field.toUpperCase() : field;
    const [value, width, padding] = field;
    if (flag === "-") return String(value);
    return String(value).padStart(width, flag === "_" ? " " : flag === "0" ? "0" : padding);
  });
}

function dayOfYear(date: Date): number {
  const day = Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return (day - Date.UTC(date.getFullYear(), 0, 0)) / 86400000;
}

/** The week of ISO 8601, which belongs to the year of its Thursday. */
function weekOfIso(date: Date): { year: number; week: number } {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() - afterMonday(date) + 3);
  return { year: thursday.getFullYear(), week: Math.floor((dayOfYear(thursday) - 1) / 7) + 1 };
}
