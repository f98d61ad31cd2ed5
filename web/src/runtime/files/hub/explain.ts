// What the Hub's refusals mean, and what to do.
import * as advise from "../../../core/base/advice.js";
import type { Explained } from "../http/response.js";
import type { HubName } from "./name.js";

/** Explains a response with an error status; undefined if it says nothing. @internal */
export function explainRefusal(
  hub: string,
  name: HubName,
  hasToken: boolean,
  response: Response,
): Explained | undefined {
  const { status, headers } = response;
  const page = `${hub}/${name.repository}`;
  const address = `${hub}/settings/tokens`;
  const makeToken = advise.hubToken({ address });
  const explained = (problem: string, ...all: advise.Advised[]): Explained => ({
    problem,
    advised: advise.either(...all),
  });
  switch (headers.get("x-error-code")) {
    case "GatedRepo":
      return hasToken
        ? explained(
            "the model is gated, and the account of the token has no access",
            advise.other(`accept the licence on ${page}, or wait until its owner has agreed`),
          )
        : explained("the model is gated", advise.hubToken({ address, licence: page }));
    case "RepoNotFound":
      return explained(
        `the Hub has no model ${name.repository}, or it is private`,
        advise.other(`check the name${hasToken ? ", and that the token may read it" : ""}`),
        ...(hasToken ? [] : [makeToken]),
      );
    case "RevisionNotFound":
      return explained(
        `${name.repository} has no revision ${name.revision}`,
        advise.other("check the branch, tag or commit after the @"),
      );
    case "EntryNotFound":
      return explained("the file is not in the repository", advise.other(`see ${page}/tree/${name.revision}`));
    case "DisabledRepo":
      return explained("the Hub has disabled this model", advise.other("choose another"));
  }
  const checkName = advise.other(`check the name ${name.repository}`);
  if (status === 401 || status === 403)
    return hasToken
      ? explained(
          `status ${status}, the Hub refuses the token: it is wrong, has ended, or may not read ${name.repository}`,
          makeToken,
        )
      : explained(`status ${status}, the Hub refuses access without a token`, checkName, makeToken);
  if (status === 404) return explained("status 404", checkName);
  if (status === 429 && !hasToken)
    return explained("too many requests from this address, and more are allowed with a token", makeToken);
  return undefined;
}
