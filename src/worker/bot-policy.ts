import { NetworkSet } from "../core/network-set.ts";
import { AgentReader, anyOf } from "../features/bots/agents.ts";
import { BotPhase, type BotRules } from "../features/bots/bot-phase.ts";
import { BotTokens } from "../features/bots/bot-tokens.ts";
import { CrawlerCheck, type ReverseNames } from "../features/bots/crawler-check.ts";
import { asksClients, type RouteBots } from "../features/bots/settings.ts";
import type { Phase } from "../message/exchange.ts";
import type { Route } from "../message/route.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { settingsByIndex } from "./routing.ts";
import type { WayInputs } from "./runtime-inputs.ts";

/** What the phase needs of its worker. */
export type BotInputs = Pick<WayInputs, "services" | "reports" | "cookieKey"> & { readonly reverse: ReverseNames };

/** Wires `bots` of a server and its routes. docs/bots.md */
export function botPhase(config: RuntimeConfig, routes: readonly Route[], inputs: BotInputs): Phase {
  const { bots } = config.server;
  const { services, reports, reverse, cookieKey } = inputs;
  const settings = settingsByIndex(config, routes);
  const known = new Map<RouteBots, BotRules>();
  const server: RouteBots = { ...bots, isOwn: false };
  const rules = routes.map((route, i) => {
    const own = settings[i]?.bots ?? server;
    if (route.kind.isBuiltIn || !asksClients(own)) return null;
    const made = known.get(own) ?? rulesOf(own);
    known.set(own, made);
    return made;
  });
  return new BotPhase({
    rules,
    tokens: new BotTokens(bots.secret || cookieKey),
    agents: new AgentReader(bots.scrapers),
    crawlers: new CrawlerCheck(reverse, services.turn, (isVerified) => reports.onCrawler(isVerified)),
    clock: services.clock,
    turns: services,
    listener: reports,
  });
}

function rulesOf({ challenge, difficulty, ttlMs, allow }: RouteBots): BotRules {
  const exact = new Set(allow.paths.filter((path) => !path.endsWith("*")));
  const starts = allow.paths.filter((path) => path.endsWith("*")).map((path) => path.slice(0, -1));
  return {
    asksAll: challenge === "all",
    difficulty,
    ttlMs,
    crawlers: new Set(allow.crawlers),
    agents: anyOf(allow.userAgents),
    networks: new NetworkSet(allow.cidr),
    isOpen: (path) => exact.has(path) || starts.some((start) => path.startsWith(start)),
  };
}
