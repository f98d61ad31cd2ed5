// The formats of strings that can be generated, as patterns. Each allows a part of what the format does, and nothing else.

const MONTH_DAY =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const DATE = `(?:19|20)\\d\\d-${MONTH_DAY}`;
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)";
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}`;
const PATH = "(?:/[A-Za-z0-9_.~-]*)*(?:\\?[A-Za-z0-9_.~=&-]*)?(?:#[A-Za-z0-9_.~-]*)?";

/** Pattern, and the shortest and longest text. */
export interface Format {
  readonly pattern: string;
  readonly least: number;
  readonly most: number;
}

function format(pattern: string, least: number, most = Infinity): Format {
  return { pattern: `^${pattern}$`, least, most };
}

export const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["date", format(DATE, 10, 10)],
  ["time", format(TIME, 9, 21)],
  ["date-time", format(`${DATE}T${TIME}`, 20, 32)],
  ["duration", format("P(?:\\d{1,4}D(?:T\\d{1,2}H)?|T\\d{1,2}H(?:\\d{1,2}M)?|\\d{1,3}W)", 3, 9)],
  ["email", format(`[a-z0-9]+(?:[._+-][a-z0-9]+)*@${LABEL}(?:\\.${LABEL}){0,3}\\.[a-z]{2,6}`, 6)],
  ["hostname", format(HOST, 1, 114)],
  ["ipv4", format(`${BYTE}(?:\\.${BYTE}){3}`, 7, 15)],
  ["ipv6", format("[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}", 15, 39)],
  ["uri", format(`https?://${HOST}(?::[1-9]\\d{1,3})?${PATH}`, 8)],
  ["uuid", format("[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", 36, 36)],
]);
