// The filters of templates.
import { filter, type Filter } from "./filter_call.js";
import { HTML_FILTERS } from "./html_filters.js";
import { LIST_FILTERS } from "./list_filters.js";
import { NUMBER_FILTERS } from "./number_filters.js";
import { TEXT_FILTERS } from "./text_filters.js";

/** A filter of Jinja that isn't there. A template may have it where it doesn't run. */
function refused(name: string, why: string): Filter {
  return filter(undefined, () => {
    throw new TypeError(`the filter '${name}' is not supported: ${why}`);
  });
}

export const FILTERS: ReadonlyMap<string, Filter> = new Map(
  Object.entries({
    ...TEXT_FILTERS,
    ...LIST_FILTERS,
    ...NUMBER_FILTERS,
    ...HTML_FILTERS,
    random: refused("random", "a prompt must not depend on chance"),
    urlize: refused("urlize", "a prompt has no HTML links"),
  }),
);
