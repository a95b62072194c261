import { SCRAPER_NAMES } from "./agent-names.ts";
import { CRAWLER_NAMES, CRAWLERS, type CrawlerName } from "./crawlers.ts";

/** Bytes of a user agent that edge reads, and binds a pass to: the cost is the same whatever a client sends. */
export const MAX_BOUND_AGENT_BYTES = 512;
/** User agents whose names a worker remembers to have looked for. */
const MAX_REMEMBERED_AGENTS = 1024;

/** What a user agent says of its sender. */
export interface AgentFacts {
  /** Whether there is none. */
  readonly isEmpty: boolean;
  /** Whether it begins as those of all browsers do. */
  readonly claimsBrowser: boolean;
  /** Whether it names an engine, as those of all browsers do. */
  readonly hasEngine: boolean;
  /** Whether the browser that it names sends Sec-Fetch-Mode with each request over TLS. */
  readonly sendsFetchMetadata: boolean;
  /** Whether it holds a name of the list of scrapers. */
  readonly isScraper: boolean;
  /** The crawler that it names; null for none. */
  readonly crawler: CrawlerName | null;
}

/** Reads user agents; what was read is remembered, since few of them make most requests. */
export class AgentReader {
  private readonly scrapers: RegExp | null;
  private readonly known: Map<string, AgentFacts> = new Map();

  /** @param scrapers parts of user agents; null takes the built-in list */
  constructor(scrapers: readonly string[] | null) {
    this.scrapers = anyOf(scrapers ?? SCRAPER_NAMES);
  }

  /** @param value of User-Agent; the first 512 characters count, so that to read one stays cheap */
  read(value: string): AgentFacts {
    const agent = value.length > MAX_BOUND_AGENT_BYTES ? value.slice(0, MAX_BOUND_AGENT_BYTES) : value;
    const known = this.known.get(agent);
    if (known !== undefined) return known;
    if (this.known.size >= MAX_REMEMBERED_AGENTS) this.known.delete(this.known.keys().next().value!);
    const facts: AgentFacts = {
      isEmpty: agent === "",
      claimsBrowser: agent.startsWith("Mozilla/"),
      hasEngine: ENGINE.test(agent),
      sendsFetchMetadata: sendsFetchMetadata(agent),
      isScraper: this.scrapers?.test(agent) === true,
      crawler: crawlerOf(agent),
    };
    this.known.set(agent, facts);
    return facts;
  }
}

/** An expression that finds any of these texts, in any case; null if there are none. */
export function anyOf(texts: readonly string[]): RegExp | null {
  return texts.length === 0 ? null : new RegExp(texts.map(RegExp.escape).join("|"), "i");
}

function crawlerOf(agent: string): CrawlerName | null {
  if (!CRAWLER.test(agent)) return null;
  const lower = agent.toLowerCase();
  return CRAWLER_NAMES.find((name) => CRAWLERS[name].agents.some((part) => lower.includes(part))) ?? null;
}

/** Chrome and what is made of it since 80, Firefox since 90, Safari since 16.4. Expressions that begin anew nowhere take linear time. */
function sendsFetchMetadata(agent: string): boolean {
  const chrome = /\bChrome\/(\d{1,4})\./.exec(agent);
  if (chrome !== null) return Number(chrome[1]) >= 80;
  const firefox = /\bFirefox\/(\d{1,4})\./.exec(agent);
  if (firefox !== null) return agent.includes("Gecko/") && Number(firefox[1]) >= 90;
  const safari = agent.includes(" Safari/") ? /\bVersion\/(\d{1,3})\.(\d{1,3})\b/.exec(agent) : null;
  return safari !== null && Number(safari[1]) * 100 + Number(safari[2]) >= 1604;
}

const ENGINE = /AppleWebKit\/|Gecko\/|Trident\/|MSIE |KHTML\/|Goanna\/|Servo\/|NetFront\//;
const CRAWLER: RegExp = anyOf(CRAWLER_NAMES.flatMap((name) => CRAWLERS[name].agents))!;
