// What the Hub's refusals mean, and what to do.
import type { HubName } from "./name.js";

/** Explains a response with an error status; undefined if it says nothing. @internal */
export function explainRefusal(hub: string, name: HubName, hasToken: boolean, response: Response): string | undefined {
  const { status, headers } = response;
  const page = `${hub}/${name.repository}`;
  const makeToken = `make a token at ${hub}/settings/tokens and pass it as \`token\` (the command line reads HF_TOKEN)`;
  switch (headers.get("x-error-code")) {
    case "GatedRepo":
      return hasToken
        ? `the model is gated, and the account of the token has no access: accept the licence on ${page}, or wait until its owner has agreed`
        : `the model is gated: accept its licence on ${page}, then ${makeToken}`;
    case "RepoNotFound":
      return `the Hub has no model ${name.repository}, or it is private: check the name${hasToken ? ", and that the token may read it" : `; for a private model, ${makeToken}`}`;
    case "RevisionNotFound":
      return `${name.repository} has no revision ${name.revision}: check the branch, tag or commit after the @`;
    case "EntryNotFound":
      return `the file is not in the repository: see ${page}/tree/${name.revision}`;
    case "DisabledRepo":
      return "the Hub has disabled this model; choose another";
  }
  if (status === 401 || status === 403)
    return hasToken
      ? `status ${status}, the Hub refuses the token: it is wrong, has ended, or may not read ${name.repository}; ${makeToken}`
      : `status ${status}, the Hub refuses access without a token: check the name, or ${makeToken}`;
  if (status === 404) return `status 404: check the name ${name.repository}`;
  if (status === 429 && !hasToken)
    return `too many requests from this address; more are allowed with a token: ${makeToken}`;
  return undefined;
}
