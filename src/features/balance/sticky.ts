import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Exchange } from "../../message/exchange.ts";
import { cookieFields, type ExtraFields } from "../../message/extra-fields.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import type { AnswerMark } from "../../message/target.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";
import type { BalancedTarget, Policy } from "./balancer.ts";
import type { StickyCookieConfig } from "./settings.ts";

/**
 * The cookie by which a client keeps its target: for each target one value, a keyed hash of the origin's name, which is all
 * that there is to know. No client can tell the origin by it, or make the value of a target that it has not been given.
 * docs/upstreams.md#sticky-clients
 */
export class StickyCookie implements AnswerMark {
  private readonly values: CookieValues;
  private readonly targets: Map<string, BalancedTarget> = new Map();
  private readonly marks: Map<BalancedTarget, Mark> = new Map();

  /**
   * @param key what the values are made with; they stay the same for as long as it does
   * @param targets all of the route
   */
  constructor({ name, ttlMs }: StickyCookieConfig, key: string, targets: readonly BalancedTarget[]) {
    this.values = new CookieValues(name);
    const attributes = `; Path=/${ttlMs > 0 ? `; Max-Age=${Math.ceil(ttlMs / 1000)}` : ""}; HttpOnly; SameSite=Lax`;
    const seen = new Map<string, number>();
    for (const target of targets) {
      const { label } = target.upstream;
      // An origin that is listed twice, with two paths, is two targets.
      const earlier = seen.get(label) ?? 0;
      seen.set(label, earlier + 1);
      const value = createHmac("sha256", key).update(`${label}\n${earlier}`).digest("base64url").slice(0, VALUE_CHARS);
      this.targets.set(value, target);
      const cookie = `${name}=${value}${attributes}`;
      this.marks.set(target, { clear: cookieFields(cookie), secure: cookieFields(`${cookie}; Secure`) });
    }
  }

  /** The target that the request's cookie names; null without one that is valid, and if there are two. */
  targetOf({ request: { headers } }: Exchange): BalancedTarget | null {
    const { values } = this;
    let found: BalancedTarget | null = null;
    values.begin(headers);
    while (values.next()) {
      if (values.to - values.from !== VALUE_CHARS) continue;
      const target = this.targets.get(Buffer.from(headers.bytes.subarray(values.from, values.to)).latin1Slice());
      if (target === undefined) continue;
      if (found !== null) return null;
      found = target;
    }
    return found;
  }

  /** Gives the client the cookie of the target that has answered, if it does not have it. */
  mark(ex: Exchange): void {
    const answering = ex.attempt.target as BalancedTarget;
    if (this.targetOf(ex) === answering) return;
    const { clear, secure } = this.marks.get(answering)!;
    ex.response.addExtra(requestScheme(ex) === "https" ? secure : clear);
  }
}

/** The fields that give a cookie, for a client in clear text and for one over TLS. */
interface Mark {
  readonly clear: ExtraFields;
  readonly secure: ExtraFields;
}

/** Keeps clients at the target that their cookie names, for as long as it may be used; the others take their turn. */
export class Sticky implements Policy {
  private readonly cookie: StickyCookie;
  private readonly targets: ReadonlySet<BalancedTarget>;
  private readonly others: Policy;

  /**
   * @param targets all that the policy chooses among
   * @param others chooses for clients without a cookie, and for those whose target is out
   */
  constructor(cookie: StickyCookie, targets: readonly BalancedTarget[], others: Policy) {
    this.cookie = cookie;
    this.targets = new Set(targets);
    this.others = others;
  }

  pick(ex: Exchange, tried: number): BalancedTarget | null {
    const kept = this.cookie.targetOf(ex);
    if (kept !== null && this.targets.has(kept) && kept.isEligible(tried)) return kept;
    return this.others.pick(ex, tried);
  }
}

/**
 * What cookies are made with if no secret is configured: it follows from the machine's id, so that it outlives the
 * process; a random one where the machine has none. machine-id(5): the id itself is not to be shown.
 */
export function machineKey(): string {
  for (const path of MACHINE_ID_FILES) {
    const id = contentOf(path);
    if (/^[0-9a-f]{32}$/.test(id)) return createHmac("sha256", id).update("edge sticky cookies").digest("hex");
  }
  return randomBytes(KEY_BYTES).toString("hex");
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "latin1").trim();
  } catch {
    return "";
  }
}

const MACHINE_ID_FILES: readonly string[] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
const KEY_BYTES = 32;
/** 132 bits. */
const VALUE_CHARS = 22;
