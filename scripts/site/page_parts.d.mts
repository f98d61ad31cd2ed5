/** The relative address of the site's first page from the page at `path`. */
export function upFrom(path: string): string;

/** Puts the parts that pages share into a page. */
export function fillParts(html: string, path: string, current?: string): string;
