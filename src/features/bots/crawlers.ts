/** A crawler of a search engine: how it names itself, and where it comes from. docs/bots.md#crawlers */
interface Crawler {
  /** Parts of its user agents, in lower case. */
  readonly agents: readonly string[];
  /**
   * Domains of the names that its addresses have, as its operator says. Only those under which the operator alone has hosts:
   * `googleusercontent.com`, for one, has those of every customer of Google's cloud.
   */
  readonly domains: readonly string[];
}

/** Crawlers whose addresses can be verified by reverse DNS, by the name that `server.bots.allow.crawlers` knows them by. */
export const CRAWLERS = {
  googlebot: {
    agents: [
      "googlebot",
      "storebot-google",
      "google-inspectiontool",
      "googleother",
      "adsbot-google",
      "mediapartners-google",
    ],
    domains: ["googlebot.com", "google.com"],
  },
  bingbot: { agents: ["bingbot", "adidxbot", "bingpreview", "msnbot"], domains: ["search.msn.com"] },
  applebot: { agents: ["applebot"], domains: ["applebot.apple.com"] },
  yandexbot: {
    agents: ["yandexbot", "yandeximages", "yandexmobilebot", "yandexaccessibilitybot", "yandexrenderresourcesbot"],
    domains: ["yandex.ru", "yandex.net", "yandex.com"],
  },
  baiduspider: { agents: ["baiduspider"], domains: ["baidu.com", "baidu.jp"] },
  slurp: { agents: ["yahoo! slurp"], domains: ["crawl.yahoo.net"] },
  seznambot: { agents: ["seznambot"], domains: ["seznam.cz"] },
  petalbot: { agents: ["petalbot"], domains: ["petalsearch.com", "aspiegel.com"] },
  yeti: { agents: ["yeti/"], domains: ["naver.com"] },
  mojeekbot: { agents: ["mojeekbot"], domains: ["mojeek.com"] },
  qwantbot: { agents: ["qwantbot", "qwantify"], domains: ["qwant.com"] },
} as const satisfies Readonly<Record<string, Crawler>>;

/** The name of a crawler. */
export type CrawlerName = keyof typeof CRAWLERS;

/** All names, in the order of the table. */
export const CRAWLER_NAMES = Object.keys(CRAWLERS) as readonly CrawlerName[];
