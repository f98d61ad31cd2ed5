// The formats of strings, as patterns of what their standards allow.

// RFC 3339, section 5.6. A year is a leap year if 4 divides it, unless 100 does and 400 doesn't.
const LEAP_YEAR = "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const MONTH_DAY =
  "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))";
const DATE = `(?:\\d{4}-${MONTH_DAY}|${LEAP_YEAR}-02-29)`;
const FRACTION = "(?:\\.\\d+)?";
const HOUR = "(?:[01]\\d|2[0-3])";
const OFFSET = `(?:[Zz]|[+-]${HOUR}:[0-5]\\d)`;
const CLOCK = `${HOUR}:[0-5]\\d:[0-5]\\d${FRACTION}`;
/** A leap second is the last one of a day in UTC. Its time in each other zone would be an alternative of its own. */
const TIME = `(?:${CLOCK}${OFFSET}|23:59:60${FRACTION}(?:[Zz]|[+-]00:00))`;

// RFC 3339, appendix A.
const MINUTES = "\\d+M(?:\\d+S)?";
const HOURS = `T(?:\\d+H(?:${MINUTES})?|${MINUTES}|\\d+S)`;
const DAYS = "\\d+D";
const MONTHS = `\\d+M(?:${DAYS})?`;
const YEARS = `\\d+Y(?:${MONTHS})?`;
const DURATION = `P(?:(?:${YEARS}|${MONTHS}|${DAYS})(?:${HOURS})?|${HOURS}|\\d+W)`;

// RFC 2673, section 3.2.
const BYTE = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}`;

// RFC 4291, section 2.2: eight groups, or fewer around "::". The last two may be written as IPv4.
const GROUP = "[0-9A-Fa-f]{1,4}";
const groups = (count: number): string =>
  count < 2 ? GROUP.repeat(count) : `(?:${GROUP}:){${count - 2}}(?:${GROUP}:${GROUP}|${IPV4})`;
const shortened = (most: number): string =>
  `${most === 0 ? "" : `(?:(?:${GROUP}:){0,${most - 1}}${GROUP})?`}::${groups(7 - most)}`;
const IPV6 = `(?:${[groups(8), ...[0, 1, 2, 3, 4, 5, 6, 7].map(shortened)].join("|")})`;

// RFC 1123, section 2.1. RFC 5891 keeps "--" as the third and fourth character for encoded labels.
const LETTER = "[A-Za-z0-9]";
const HYPHEN = "[A-Za-z0-9-]";
const label = (longest: number): string =>
  `${LETTER}(?:${HYPHEN}{0,2}${LETTER}|${HYPHEN}(?:${LETTER}${HYPHEN}|-${LETTER})${HYPHEN}{0,${longest - 5}}${LETTER})?`;
// A name has at most 253 characters. Counting them beside those of 127 labels would take too many states.
const HOST = `${label(63)}(?:\\.${label(24)}){0,6}`;

// RFC 5321, section 4.1.2: at most 64 characters before the @.
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]";
const EMAIL = `${ATOM}(?:\\.?${ATOM}){0,31}@(?:${label(24)}\\.){1,4}[A-Za-z](?:-?${LETTER}){1,11}`;
const QUOTED = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"';
const ANY_EMAIL = `(?:${ATOM}+(?:\\.${ATOM}+)*|${QUOTED})@(?:${label(63)}(?:\\.${label(63)})*|\\[(?:${IPV4}|IPv6:${IPV6}|[A-Za-z0-9-]*${LETTER}:[!-Z^-~]+)\\])`;

// RFC 3986, appendix A. Programs read URIs by the URL standard, which allows fewer hosts and ports. With limits of labels or
// larger ports, URIs beside a length would take too many states.
const NAME = "\\-A-Za-z0-9._~!$&'()*+,;=";
const some = (more: string): string => `(?:[${NAME}${more}]|%[0-9A-Fa-f]{2})`;
const SEGMENT = some(":@");
const PATHS = `(?:/${SEGMENT}*)*`;
const ENDING = `(?:\\?${some(":@/?")}*)?(?:#${some(":@/?")}*)?`;
const WORD = `(?:-?${LETTER})*`;
const NAMED_HOST = `(?:${LETTER}${WORD}\\.)*[A-Za-z]${WORD}`;
const SITE = `//(?:${NAMED_HOST}|${IPV4}|\\[${IPV6}\\])(?::\\d{0,4})?`;
const WEB = "(?:[hH][tT][tT][pP][sS]?|[wW][sS][sS]?|[fF][tT][pP]):";
const FILE = `[fF][iI][lL][eE]:///${SEGMENT}*`;
const OTHER = `${schemeOtherThan(["http", "https", "ws", "wss", "ftp", "file"])}:`;
const URI = `(?:(?:${WEB}${SITE}|${FILE}|${OTHER}(?:${SITE}|///${SEGMENT}*|/?${SEGMENT}+))${PATHS}|${OTHER}/)${ENDING}`;
const USER = `(?:${some(":")}*@)?`;
const WITHOUT_HOST = `(?:/(?:${SEGMENT}+${PATHS})?|${SEGMENT}+${PATHS})?`;
const ANY_URI = `[A-Za-z][A-Za-z0-9+.-]*:(?://${USER}(?:\\[(?:${IPV6}|[vV][0-9A-Fa-f]+\\.[${NAME}:]+)\\]|${some("")}*)(?::\\d*)?${PATHS}|${WITHOUT_HOST})${ENDING}`;

// RFC 9562, section 4. The versions of pydantic's formats are those of its variant.
const UUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const uuid = (version: number): string =>
  `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-${version}[0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}`;

const whole = (pattern: string): string => `^(?:${pattern})$`;
const wholes = (patterns: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(patterns).map(([name, pattern]) => [name, whole(pattern)]));

/** Patterns of the texts that are generated, by the name of the format. */
export const FORMATS = wholes({
  date: DATE,
  time: TIME,
  "date-time": `${DATE}[Tt]${TIME}`,
  duration: DURATION,
  email: EMAIL,
  hostname: HOST,
  ipv4: IPV4,
  ipv6: IPV6,
  ipvanyaddress: `(?:${IPV4}|${IPV6})`,
  uri: URI,
  uuid: UUID,
  ...Object.fromEntries([1, 3, 4, 5, 6, 7, 8].map((version) => [`uuid${version}`, uuid(version)])),
});

const ANY_TIME = `(?:${CLOCK}|${HOUR}:[0-5]\\d:60${FRACTION})${OFFSET}`;

/** Patterns of all texts of a format, where those that are generated are fewer. */
export const WHOLE_FORMATS = wholes({
  time: ANY_TIME,
  "date-time": `${DATE}[Tt]${ANY_TIME}`,
  email: ANY_EMAIL,
  hostname: `(?=.{1,253}$)${LETTER}(?:${HYPHEN}{0,61}${LETTER})?(?:\\.${LETTER}(?:${HYPHEN}{0,61}${LETTER})?)*`,
  uri: ANY_URI,
});

/** A scheme of RFC 3986 that is none of these names, in any case of letters, of about 16 characters at most. */
function schemeOtherThan(names: readonly string[]): string {
  const other = (ends: readonly string[], isFirst: boolean): string => {
    const next = [...new Set(ends.filter((end) => end !== "").map((end) => end[0]!))];
    const letters = Array.from("abcdefghijklmnopqrstuvwxyz").filter((letter) => !next.includes(letter));
    const free = `[${letters.join("")}${letters.join("").toUpperCase()}${isFirst ? "" : "0-9+.-"}][A-Za-z0-9+.-]{0,15}`;
    const ways = next.map((letter) => {
      const rest = other(
        ends.filter((end) => end[0] === letter).map((end) => end.slice(1)),
        false,
      );
      return `[${letter}${letter.toUpperCase()}]${rest}`;
    });
    const isEnd = isFirst || ends.includes("");
    return `(?:${[free, ...ways].join("|")})${isEnd ? "" : "?"}`;
  };
  return other(names, true);
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
