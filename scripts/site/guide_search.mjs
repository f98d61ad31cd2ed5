// A plugin of TypeDoc: the first page is found too, and pages are found by the words that other systems and other people use.
import { IndexEvent } from "typedoc";
import { SEARCH_WORDS } from "./search_words.mjs";

/** Makes the search know SEARCH_WORDS. `titles` has the title of each page of docs/; `first` is the text of the first page. */
export function addSearchWords(application, project, { titles, first }) {
  for (const file of Object.keys(SEARCH_WORDS))
    if (file !== "README.md" && !titles.has(file)) throw new Error(`docs/${file} has search words but is not a page`);
  const fileOf = new Map([...titles].map(([file, title]) => [title, file]));
  application.renderer.on(IndexEvent.PREPARE_INDEX, (event) => {
    event.searchFieldWeights.keywords = 3000; // also above API names that are the word
    event.searchResults.forEach((result, i) => {
      const file = result.isDocument() ? fileOf.get(result.name) : undefined;
      event.searchFields[i].keywords = SEARCH_WORDS[file] ?? "";
    });
    event.searchResults.push(project);
    event.searchFields.push({ document: first, keywords: SEARCH_WORDS["README.md"] });
  });
}
