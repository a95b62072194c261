// What serves a route with `ai`; loaded where there is one.

import { modelKey } from "../../features/ai/ai-counts.ts";
import { AiHandler, type AiModel, authorizationOf, ModelChoice } from "../../features/ai/ai-handler.ts";
import { TokenLimit } from "../../features/ai/token-limit.ts";
import type { TargetInit } from "../../features/balance/balancer.ts";
import { targetChoice } from "../../features/balance/target-choice.ts";
import { ClientLimitKey, type LimitKey, OneKey, UserLimitKey } from "../../features/limit/limit-key.ts";
import { WholeBody } from "../../features/transcode/whole-body.ts";
import { TokenBuckets } from "../../memory/token-bucket.ts";
import type { Handler } from "../../message/exchange.ts";
import { Template } from "../../proto/template/template.ts";
import type { OwnFields } from "../header-operations.ts";
import { labelOf } from "../route-base.ts";
import { routeKey } from "../route-key.ts";
import type { RouteTypePorts } from "../route-type.ts";
import { forwardHandler } from "./forward-route.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";

/** A client has a whole network of this length in IPv6. */
const IPV6_PREFIX = 64;

/** The handler of a route with `ai`. @param targets those of the route that have a weight */
export function aiHandler(route: UpstreamRouteConfig, targets: readonly TargetInit[], site: RouteTypePorts): Handler {
  const { models, maxBodyBytes } = route.ai!;
  const label = labelOf(route);
  const weighed = route.targets.filter(({ weight }) => weight > 0);
  const made = models.map(({ name, send, key, targets: names }): AiModel => {
    const own = targets.filter((_, i) => names.length === 0 || names.includes(weighed[i]?.name ?? ""));
    const choice = targetChoice(route.loadBalancing, own, Math.random, site.cookieKey);
    return { name, send, key, counter: site.ai.counts.of(modelKey(label, name)), choice };
  });
  return new AiHandler(forwardHandler(route, new ModelChoice(), site.forward), {
    models: made,
    limit: limitOf(route, site),
    maxBodyBytes,
    gather: (taker) => new WholeBody(taker, site.forward.bodies),
    onLimited: site.ai.onLimited,
  });
}

/** Null without `ai.tokens`. */
function limitOf(route: UpstreamRouteConfig, { ai }: RouteTypePorts): TokenLimit | null {
  const tokens = route.ai?.tokens ?? null;
  if (tokens === null) return null;
  const buckets = new TokenBuckets(ai.buckets);
  // Other numbers begin anew.
  const purpose = JSON.stringify(["ai", routeKey(route), tokens.limit, tokens.windowMs, tokens.key]);
  return new TokenLimit(tokens, buckets, limitKey(tokens.key, buckets, purpose), ai.clock);
}

function limitKey(key: "user" | "client_ip" | "route", buckets: TokenBuckets, purpose: string): LimitKey {
  if (key === "route") return new OneKey(buckets, purpose);
  return key === "user"
    ? new UserLimitKey(buckets, purpose, IPV6_PREFIX)
    : new ClientLimitKey(buckets, purpose, IPV6_PREFIX);
}

/** The client's Authorization is not for the targets: the key of the model is there in its place. */
export function modelFields(): OwnFields {
  const key = new Template(["", ""], [{ name: "ai", read: authorizationOf, form: "word", isInQuery: false }]);
  return { gone: ["authorization"], added: [{ name: "Authorization", value: key }] };
}
