// The handler of routes with `ai`; loaded for the first of them.

import { modelKey } from "../../features/ai/ai-counts.ts";
import { AiHandler, type AiModel, ModelChoice } from "../../features/ai/ai-handler.ts";
import type { TargetInit } from "../../features/balance/balancer.ts";
import { targetChoice } from "../../features/balance/target-choice.ts";
import { WholeBody } from "../../features/transcode/whole-body.ts";
import type { Handler } from "../../message/exchange.ts";
import { labelOf } from "../route-base.ts";
import { routeKey } from "../route-key.ts";
import type { RouteTypePorts } from "../route-type.ts";
import { forwardHandler } from "./forward-route.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";

/** The handler of a route with `ai`. @param targets those of the route that have a weight */
export function aiHandler(route: UpstreamRouteConfig, targets: readonly TargetInit[], site: RouteTypePorts): Handler {
  const { models, tokens, maxBodyBytes } = route.ai!;
  const label = labelOf(route);
  const weighed = route.targets.filter(({ weight }) => weight > 0);
  const made = models.map(({ name, send, key, keyHeader, targets: names }): AiModel => {
    const own = targets.filter((_, i) => names.length === 0 || names.includes(weighed[i]?.name ?? ""));
    const choice = targetChoice(route.loadBalancing, own, Math.random, site.cookieKey);
    const counter = site.ai.counts.of(modelKey(label, name));
    return { name, send, key, keyHeader: keyHeader.toLowerCase(), counter, choice };
  });
  // Other numbers begin anew.
  const purpose = JSON.stringify(["ai", routeKey(route), tokens]);
  return new AiHandler(forwardHandler(route, new ModelChoice(), site.forward), {
    models: made,
    limit: tokens === null ? null : site.ai.limit(tokens, purpose),
    maxBodyBytes,
    prefix: route.path === "" ? route.prefix.replace(/\/$/, "") : route.path.replace(CALL_OF_PATH, ""),
    gather: (taker) => new WholeBody(taker, site.forward.bodies),
    onLimited: site.ai.onLimited,
  });
}

/** The call at the end of an exact path. */
const CALL_OF_PATH = /(?:\/chat)?\/[^/]*$/;
