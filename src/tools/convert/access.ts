/** Rules about addresses of which the first that fits counts. */
export class ConditionalAccess {
  readonly rules: { readonly isAllowed: boolean; readonly network: string }[] = [];

  /** @param network an address, a network, or `all` */
  add(isAllowed: boolean, network: string): void {
    this.rules.push({ isAllowed, network });
  }
}

/**
 * The same as `ip_rules`, where deny is looked at first; "open" where everything is allowed, null where the order cannot be kept.
 */
export function readAccess({ rules }: ConditionalAccess): { allow?: string[]; deny?: string[] } | "open" | null {
  const allow: string[] = [];
  const deny: string[] = [];
  for (const { isAllowed, network } of rules) {
    if (network === "all") {
      if (isAllowed) return deny.length === 0 ? "open" : allow.length === 0 ? { deny } : null;
      return allow.length === 0 ? { deny: ["0.0.0.0/0", "::/0"] } : deny.length === 0 ? { allow } : { allow, deny };
    }
    if (network === "unix:") continue;
    // An allowed address before a denied network would be denied here.
    if (!isAllowed && allow.length > 0) return null;
    (isAllowed ? allow : deny).push(network);
  }
  // The last word is missing: what no rule names is allowed.
  if (deny.length === 0) return "open";
  return allow.length === 0 ? { deny } : null;
}
