import { NetworkSet } from "../../core/network-set.ts";
import { pathTest } from "../../core/path-pattern.ts";
import type { Phase, Route } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { AI_AGENT_NAMES } from "./agent-names.ts";
import { AgentReader, anyOf } from "./agents.ts";
import { type BotListener, BotPhase, type BotPorts, type BotRules } from "./bot-phase.ts";
import { BotTokens } from "./bot-tokens.ts";
import { CrawlerCheck, type ReverseNames } from "./crawler-check.ts";
import { Impostors } from "./impostors.ts";
import { AI_CRAWLERS, type BotsConfig, judgesClients, type RouteBots } from "./settings.ts";

/** What the phase needs of its worker. */
interface BotRulePorts {
  readonly turn: NowMs;
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
  readonly turns: BotPorts["turns"];
  readonly reports: BotListener & { onCrawler(isVerified: boolean): void };
  /** What passes are made with where the configuration has no secret. */
  readonly cookieKey: string;
  /** Whom to ask for the names of addresses. */
  readonly reverse: ReverseNames;
  readonly agentAction: BotPorts["agentAction"];
}

/**
 * Wires `bots` of a server and its routes. docs/bots.md
 * @param ofRoutes what the configuration says of each route, by number; null for the gateway's own
 */
export function botPhase(
  bots: BotsConfig,
  routes: readonly Route[],
  ofRoutes: readonly (RouteBots | null)[],
  { turn, clock, turns, reports, reverse, cookieKey, agentAction }: BotRulePorts,
): Phase {
  const known = new Map<RouteBots, BotRules>();
  const server: RouteBots = { ...bots, isOwn: false };
  const rules = routes.map((route, i) => {
    const own = ofRoutes[i] ?? server;
    if (route.kind.isBuiltIn || !judgesClients(own)) return null;
    const made = known.get(own) ?? rulesOf(own);
    known.set(own, made);
    return made;
  });
  return new BotPhase({
    rules,
    tokens: new BotTokens(bots.secret || cookieKey),
    agents: new AgentReader(bots.scrapers),
    impostors: new Impostors(bots.handshakes),
    crawlers: new CrawlerCheck(reverse, turn, (isVerified) => reports.onCrawler(isVerified)),
    clock,
    turns,
    listener: reports,
    agentAction,
  });
}

function rulesOf({ challenge, difficulty, ttlMs, allow, impostors, block }: RouteBots): BotRules {
  return {
    asksAll: challenge === "all",
    asksSuspicious: challenge === "suspicious",
    impostors,
    difficulty,
    ttlMs,
    crawlers: new Set(allow.crawlers),
    blocked: anyOf(block.flatMap((part) => (part === AI_CRAWLERS ? AI_AGENT_NAMES : [part]))),
    agents: anyOf(allow.userAgents),
    networks: new NetworkSet(allow.cidr),
    isOpen: pathTest(allow.paths),
  };
}
