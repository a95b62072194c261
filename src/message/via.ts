import type { RequestHead } from "./request-head.ts";

/** What the gateway calls itself in Via, after the version of the message that it has received. RFC 9110 §7.6.3. */
export function viaOf({ major, minor }: RequestHead): string {
  if (major > 1) return major === 2 ? "2 edge" : "3 edge";
  return minor === 0 ? "1.0 edge" : "1.1 edge";
}

/** Whether an entry of Via is the gateway's own. */
export function isOwnVia(entry: string): boolean {
  return OWN.test(entry.trim());
}

const OWN = /^(?:1\.[01]|[23]) edge$/;
