import { hostLiteral } from "../core/ip-address.ts";
import { type KeyPath, quote } from "./config-fault.ts";
import type { FaultLog } from "./fault-log.ts";
import { isHostName } from "./origin.ts";

/**
 * A host as requests name it, or all below one: `www.example.com`, `*.example.com`, `[::1]`; in lower case and without the
 * final dot. What is none is noted as a fault at `path`.
 */
export function resolveHostPattern(host: string, path: KeyPath, log: FaultLog): string {
  const lower = host.toLowerCase().replace(/\.$/, "");
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
