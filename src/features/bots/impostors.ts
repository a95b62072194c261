import type { Exchange } from "../../message/exchange.ts";
import { ja4Of } from "../../proto/tls/ja4.ts";
import type { AgentFacts } from "./agents.ts";

/** A handshake that a browser has. */
export interface BrowserHandshake {
  /** In lower case, as user agents name it before a slash: chrome, firefox. */
  readonly name: string;
  /** Its JA4; `*` for a part that does not count. */
  readonly ja4: string;
}

/**
 * Handshakes of browsers by their ciphers: extensions change with resumed sessions, settings and versions, ciphers do not. Chrome and its
 * relatives since version 93 have had these; Firefox had the first from 98 on, and has left one cipher (c009) out since.
 */
const SHIPPED: readonly (BrowserHandshake & { readonly since: number })[] = [
  { name: "chrome", ja4: "*_8daaf6152771_*", since: 100 },
  { name: "firefox", ja4: "*_5b57614c22b0_*", since: 110 },
  { name: "firefox", ja4: "*_86a278354501_*", since: 110 },
];

/** Tells clients that name a browser, and have a handshake of none of its, from browsers. docs/bots.md#impostors */
export class Impostors {
  private readonly handshakes: readonly (BrowserHandshake & { readonly since: number })[];

  /** @param listed null takes the built-in list */
  constructor(listed: readonly BrowserHandshake[] | null) {
    this.handshakes = listed === null ? SHIPPED : listed.map((one) => ({ ...one, since: 0 }));
  }

  /** Its JA4 if the client is one; "" otherwise. A client without a handshake of its own is none. */
  find({ client, fromTrustedProxy }: Exchange, agent: string, { crawler }: AgentFacts): string {
    if (fromTrustedProxy || crawler !== null) return "";
    const named = this.handshakes.filter((one) => names(agent, one.name, one.since));
    if (named.length === 0) return "";
    const found = ja4Of(client);
    return found === "" || named.some(({ ja4 }) => fits(found, ja4)) ? "" : found;
  }
}

/** Whether a user agent names a browser, in a version that counts. Chrome names Safari as well, which it is not. */
function names(agent: string, name: string, since: number): boolean {
  const lower = agent.toLowerCase();
  if (name === "safari" && /chrome\/|chromium\/|edg/.test(lower)) return false;
  const at = lower.indexOf(`${name}/`);
  if (at < 0 || (at > 0 && /[a-z0-9]/.test(lower[at - 1]!))) return false;
  return Number.parseInt(lower.slice(at + name.length + 1, at + name.length + 6), 10) >= since;
}

/** Compares the three parts. */
function fits(found: string, wanted: string): boolean {
  const parts = wanted.split("_");
  return found.split("_").every((part, i) => parts[i] === "*" || parts[i] === part);
}
