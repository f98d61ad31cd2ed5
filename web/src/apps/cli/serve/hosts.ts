// The hosts that a server answers to. A page of another site can give its own name this machine's address (DNS rebinding), and then reads answers.
import { isIP } from "node:net";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

/** Whether an address is reached only from this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}

/** Whether a request is for a host of this server. */
export type IsHost = (host: string | undefined) => boolean;

/**
 * Which values of the header `Host` pass.
 * @param isLocal - whether the server is reached only from this machine: then only names of this machine do
 * @param allowed - the other names that do; undefined for any if the server is reached from other machines
 */
export function hostCheck(isLocal: boolean, allowed: readonly string[] | undefined): IsHost {
  const names = new Set(allowed);
  return (host) => {
    const name = nameOf(host ?? "");
    if (name === undefined) return false;
    if (isLoopback(name) || names.has(name)) return true;
    if (isLocal) return false;
    // no page has an address as its name by rebinding it
    return allowed === undefined || isIP(name.replace(/^\[|\]$/g, "")) > 0;
  };
}

/** The host names in a list with commas; undefined if one of them is none. */
export function readHosts(list: string): string[] | undefined {
  const names = list.split(",").map((name) => {
    const text = name.trim();
    const host = isIP(text) === 6 ? `[${text}]` : text;
    return /[/?#@\\\s]/.test(host) || /:\d*$/.test(host.replace(/^\[.*\]$/, "")) || host.includes("*")
      ? undefined
      : nameOf(host);
  });
  return names.includes(undefined) ? undefined : (names as string[]);
}

/** The name in a value of the header, without its port, as browsers write it. */
function nameOf(host: string): string | undefined {
  const url =
    host !== "" && !/[/?#@\\\s]/.test(host) && URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : undefined;
  return url?.hostname.replace(/\.$/, "");
}
