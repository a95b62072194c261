import type { Keys } from "./keys.ts";
import type { Ledger } from "./ledger.ts";
import { commonNetworks } from "./networks.ts";
import type { Rule } from "./plan.ts";
import type { Statement } from "./statement.ts";

/** Lets in clients of these networks alone, of all that the rule lets in so far. */
export function allowOnly(rule: Rule, networks: readonly string[]): void {
  const { allow, ...others } = (rule.keys.ip_rules ?? {}) as { allow?: string[]; deny?: string[] };
  const kept = allow === undefined ? [...networks] : commonNetworks(allow, networks);
  rule.keys.ip_rules = kept.length === 0 ? { deny: [...EVERY_ADDRESS] } : { ...others, allow: kept };
}

/** Lets no client in. */
export function refuseRule(rule: Rule): void {
  rule.keys.ip_rules = { deny: [...EVERY_ADDRESS] };
}

/** Whether no client is admitted by its address. */
export function isClosed({ ip_rules }: Keys): boolean {
  const { deny = [] } = (ip_rules ?? {}) as { readonly deny?: readonly string[] };
  return EVERY_ADDRESS.every((one) => deny.includes(one));
}

/**
 * Asks for what `auth` says. A client that has to pass two of these cannot be said: `any` is one of several.
 * @returns false if the rule had one before: it is closed then
 */
export function requireAuth(rule: Rule, auth: Keys): boolean {
  if (rule.keys.auth !== undefined) {
    refuseRule(rule);
    return false;
  }
  rule.keys.auth = auth;
  return true;
}

const EVERY_ADDRESS: readonly string[] = ["0.0.0.0/0", "::/0"];

/** Clients of this machine. */
export const THIS_MACHINE: readonly string[] = ["127.0.0.0/8", "::1"];

/** Whether a socket at this address, or at this path, takes connections of this machine alone. */
export function isLoopbackAddress(address: string): boolean {
  return /^(127\.[\d.]+|\[?::1\]?|localhost|(unix|abns)[:@].*|\/.*)$/i.test(address);
}

/** Says that `requireAuth` has closed a route. */
export function noteTwo(ledger: Ledger, statement: Statement): void {
  ledger.note(
    statement,
    "a route has one way to prove who a client is, and this is the second of two: the route is closed",
    "set auth to the method that is enough, and remove ip_rules",
  );
}

/** Says that a listener of this machine alone has become `ip_rules`. */
export function noteLocal(ledger: Ledger, listener: Statement): void {
  ledger.note(
    listener,
    "the gateway listens at other addresses as well: its routes let in clients of this machine alone",
    "nothing, or set server.host, or other networks at ip_rules of the routes",
  );
}

/** Rules about addresses of which the first that fits counts. */
export class ConditionalAccess {
  readonly rules: { readonly isAllowed: boolean; readonly network: string }[] = [];

  /** @param network an address, a network, or `all` */
  add(isAllowed: boolean, network: string): void {
    this.rules.push({ isAllowed, network });
  }
}

/**
 * The same as `ip_rules`, where deny is examined first; "open" where everything is allowed, null if the order cannot be kept.
 */
export function readAccess({ rules }: ConditionalAccess): { allow?: string[]; deny?: string[] } | "open" | null {
  const allow: string[] = [];
  const deny: string[] = [];
  for (const { isAllowed, network } of rules) {
    if (network === "all") {
      if (isAllowed) return deny.length === 0 ? "open" : allow.length === 0 ? { deny } : null;
      return allow.length === 0 ? { deny: [...EVERY_ADDRESS] } : deny.length === 0 ? { allow } : { allow, deny };
    }
    if (network === "unix:") continue;
    // An allowed address before a denied network would be denied here.
    if (!isAllowed && allow.length > 0) return null;
    (isAllowed ? allow : deny).push(network);
  }
  // The last word is missing: what no rule names is allowed.
  return deny.length === 0 ? "open" : { deny };
}
