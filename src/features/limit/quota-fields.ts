import type { Exchange } from "../../message/exchange.ts";
import { ExtraFields } from "../../message/extra-fields.ts";
import type { RateLimitConfig } from "./settings.ts";

/**
 * The fields `RateLimit-Policy` and `RateLimit` of responses, as draft-ietf-httpapi-ratelimit-headers-10 has them: what a limit allows,
 * the rest of it for this client, and when there will be more. docs/guards.md#fields-of-a-rate-limit
 */
export class QuotaFields {
  private readonly policy: string;
  /** By what they say: most responses say what another has said. */
  private readonly made: Map<string, ExtraFields> = new Map();

  constructor({ requests, windowMs, burst }: Pick<RateLimitConfig, "requests" | "windowMs" | "burst">) {
    // A window is whole seconds there; another is not told.
    const window = windowMs % 1000 === 0 ? `;w=${windowMs / 1000}` : "";
    const most = burst === requests ? "" : `;edge-burst=${integer(burst)}`;
    this.policy = `"default";q=${integer(requests)}${window}${most}`;
  }

  /** @param left requests that may still come at once @param seconds until there is one more */
  at(left: number, seconds: number): ExtraFields {
    const state = `"default";r=${integer(left)};t=${integer(seconds)}`;
    let fields = this.made.get(state);
    if (fields !== undefined) return fields;
    fields = new ExtraFields([
      [POLICY, this.policy],
      [STATE, state],
    ]);
    if (this.made.size >= MAX_KEPT) this.made.clear();
    this.made.set(state, fields);
    return fields;
  }
}

/** How many requests a limit still has for a client, and the fields that tell it. */
export interface Quota {
  readonly left: number;
  readonly fields: ExtraFields;
}

/** Tells a quota in a response, unless an earlier phase has told a tighter quota. */
export function tellQuota({ response }: Exchange, quota: Quota): void {
  const told = response.extra?.fields.find(([name]) => name === STATE);
  if (told === undefined) return response.addExtra(quota.fields);
  if (Number(/;r=(\d+)/.exec(told[1])?.[1] ?? 0) <= quota.left) return;
  const others = response.extra!.fields.filter(([name]) => name !== STATE && name !== POLICY);
  response.extra = new ExtraFields([...others, ...quota.fields.fields]);
}

/** RFC 9651 §3.3.1: fifteen digits at most. */
function integer(number: number): number {
  return Math.min(number, 999_999_999_999_999);
}

const MAX_KEPT = 512;
const POLICY = "RateLimit-Policy";
const STATE = "RateLimit";
