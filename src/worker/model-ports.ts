import { TokenLimit } from "../features/ai/token-limit.ts";
import { ClientLimitKey, type LimitKey, OneKey, UserLimitKey } from "../features/limit/limit-key.ts";
import { TokenBuckets } from "../memory/token-bucket.ts";
import type { RouteTypePorts } from "../routes/route-type.ts";
import type { WayPorts } from "./runtime-inputs.ts";

/** A client has a whole network of this length in IPv6. */
const IPV6_PREFIX = 64;

/** Counters and limits of language models. */
export function modelPorts({ under, client, reports }: WayPorts): RouteTypePorts["ai"] {
  const buckets = new TokenBuckets(client.buckets);
  return {
    counts: under.ai,
    limit: (tokens, purpose) =>
      new TokenLimit(tokens, buckets, keyOf(tokens.key, buckets, purpose), client.sharedClock),
    onLimited: (ex, status, seconds) => reports.onLimited(ex, status, seconds),
  };
}

function keyOf(key: "user" | "client_ip" | "route", buckets: TokenBuckets, purpose: string): LimitKey {
  if (key === "route") return new OneKey(buckets, purpose);
  const make = key === "user" ? UserLimitKey : ClientLimitKey;
  return new make(buckets, purpose, IPV6_PREFIX);
}
