import { hostLiteral, ipVersion } from "../core/ip-address.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { isHostName } from "./origin.ts";
import { type Kind, resolved } from "./piece.ts";
import { text } from "./scalars.ts";

/**
 * A host as requests name it, or all below one: `www.example.com`, `*.example.com`, `[::1]`; in lower case and without the
 * final dot. What is none is noted as a fault at `path`.
 */
function resolveHostPattern(host: string, path: KeyPath, log: FaultLog): string {
  const lower = asciiName(host).replace(/\.$/, "");
  const name = lower.replace(/^\*\./, "");
  // IPv6 literals come in brackets, as they stand in a Host field.
  const literal = hostLiteral(lower);
  if (literal !== "") return literal;
  if (!isHostName(name)) {
    const cure = /^.*:\d+$/.test(host) ? "; leave the port out" : "";
    log.fault(path, `expected a host name such as www.example.com or *.example.com, found ${quote(host)}${cure}`);
  }
  return lower;
}

/** A host as `resolveHostPattern` reads it. */
export function hostPattern(): Kind<string> {
  return resolved(text("a host name"), (host, { path, log }) => resolveHostPattern(host, path, log));
}

/** The address to listen on, resolved without brackets; `example` is one, for the fault. */
export function listenHost(example: string): Kind<string> {
  return resolved(text(`an address such as ${example}`), (host, { path, log }) => resolveHost(host, path, log));
}

/** An address to listen on, without brackets. What is none is noted as a fault at `path`. */
export function resolveHost(host: string, path: KeyPath, log: FaultLog): string {
  const bare = host.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  const isNumeric = /^[\d.]+$/.test(bare);
  if (ipVersion(bare) === 0 && (isNumeric || !isHostName(bare))) {
    const cure = bare === "*" || bare === "" ? ' (did you mean "0.0.0.0"?)' : "; the port has a key of its own";
    log.fault(path, `expected an IP address or host name to listen on, found ${quote(host)}${cure}`);
  }
  return bare;
}

/** A name in lower case, and in the form that DNS and certificates have: `bücher.example` is `xn--bcher-kva.example`. RFC 5890 §2.3.2.1 */
export function asciiName(name: string): string {
  const lower = name.toLowerCase();
  if (!/[^\0-\x7f]/.test(lower)) return lower;
  const [, wildcard = "", rest = ""] = /^(\*\.)?(.*)$/.exec(lower)!;
  return URL.canParse(`http://${rest}/`) ? wildcard + new URL(`http://${rest}/`).hostname : lower;
}
