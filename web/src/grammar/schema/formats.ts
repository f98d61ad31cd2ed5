// The formats of strings that can be generated, as patterns. Each allows a part of what the format does, and nothing else.

const MONTH_DAY =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const DATE = `(?:19|20)\\d\\d-${MONTH_DAY}`;
const TIME = "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,6})?(?:Z|[+-](?:0\\d|1[0-4]):[0-5]\\d)";
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,20}[a-z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL}){0,4}`;
const PATH = "(?:/[A-Za-z0-9_.~-]*)*(?:\\?[A-Za-z0-9_.~=&-]*)?(?:#[A-Za-z0-9_.~-]*)?";

/** Patterns by the name of the format. */
export const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date: DATE,
    time: TIME,
    "date-time": `${DATE}T${TIME}`,
    duration: "P(?:\\d{1,4}D(?:T\\d{1,2}H)?|T\\d{1,2}H(?:\\d{1,2}M)?|\\d{1,3}W)",
    email: `[a-z0-9]+(?:[._+-][a-z0-9]+)*@${LABEL}(?:\\.${LABEL}){0,3}\\.[a-z]{2,6}`,
    hostname: HOST,
    ipv4: IPV4,
    ipv6: "[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){7}",
    ipvanyaddress: IPV4,
    uri: `https?://${HOST}(?::[1-9]\\d{1,3})?${PATH}`,
    uuid: uuid("1-5"),
    uuid1: uuid("1"),
    uuid3: uuid("3"),
    uuid4: uuid("4"),
    uuid5: uuid("5"),
  }).map(([name, pattern]) => [name, `^(?:${pattern})$`]),
);

function uuid(version: string): string {
  return `[0-9a-f]{8}-[0-9a-f]{4}-[${version}][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`;
}

/** Formats that any text has. They say what it is for: OpenAPI's and those of pydantic's types. */
export const ANNOTATING: ReadonlySet<string> = new Set([
  "binary",
  "password",
  "path",
  "file-path",
  "directory-path",
  "textarea",
  "markdown",
  "html",
]);

/** Patterns that zod writes beside a format, with what is generated for both: they have lookaheads inside, or another form of the format. */
export const PATTERNS_OF_ZOD: ReadonlyMap<string, { readonly format: string; readonly pattern: string }> = new Map([
  [
    "^P(?:(\\d+W)|(?!.*W)(?=\\d|T\\d)(\\d+Y)?(\\d+M)?(\\d+D)?(T(?=\\d)(\\d+H)?(\\d+M)?(\\d+([.,]\\d+)?S)?)?)$",
    { format: "duration", pattern: FORMATS.get("duration")! },
  ],
  // z.iso.time() has no offset.
  [
    "^(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?$",
    { format: "time", pattern: "^(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d$" },
  ],
]);
