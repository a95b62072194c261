// Names as they are in user agents, in the order of the alphabet. docs/bots.md#what-is-suspicious

/**
 * Crawlers that gather texts to train models on, or for what these say, as their operators name them: for robots.txt, and
 * suspicious. `server.bots.robots.agents_file` replaces the first, `server.bots.scrapers_file` the second.
 */
export const AI_CRAWLER_NAMES: readonly string[] = [
  "AI2Bot",
  "Amazonbot",
  "anthropic-ai",
  "Applebot-Extended",
  "Bytespider",
  "CCBot",
  "ChatGPT-User",
  "ClaudeBot",
  "Claude-Web",
  "cohere-ai",
  "cohere-training-data-crawler",
  "Diffbot",
  "DuckAssistBot",
  "FacebookBot",
  "FriendlyCrawler",
  "Google-CloudVertexBot",
  "Google-Extended",
  "GPTBot",
  "ICC-Crawler",
  "ImagesiftBot",
  "img2dataset",
  "ISSCyberRiskCrawler",
  "Kangaroo Bot",
  "Meta-ExternalAgent",
  "Meta-ExternalFetcher",
  "MistralAI-User",
  "OAI-SearchBot",
  "omgili",
  "omgilibot",
  "PanguBot",
  "PerplexityBot",
  "Perplexity-User",
  "SemrushBot-OCOB",
  "Sidetrade indexer bot",
  "Timpibot",
  "VelenPublicWebCrawler",
  "Webzio-Extended",
  "YouBot",
];

/** Names that robots.txt knows and no user agent has: a crawler of search engines obeys them, so they say nothing of a request. */
const ONLY_IN_ROBOTS: ReadonlySet<string> = new Set(["Applebot-Extended", "Google-Extended", "Webzio-Extended"]);

/** Programs that copy sites in bulk, browsers that programs drive, and crawlers for others than the readers of a site. */
const COPIERS: readonly string[] = [
  "AhrefsBot",
  "Barkrowler",
  "BLEXBot",
  "BrightBot",
  "colly",
  "Crawlee",
  "crawler4j",
  "DataForSeoBot",
  "DotBot",
  "GeedoBot",
  "HeadlessChrome",
  "Heritrix",
  "HTTrack",
  "IonCrawl",
  "libwww-perl",
  "magpie-crawler",
  "MauiBot",
  "MegaIndex",
  "MJ12bot",
  "newspaper/",
  "Nutch",
  "Offline Explorer",
  "PhantomJS",
  "Playwright",
  "proximic",
  "Puppeteer",
  "Scrapy",
  "Selenium",
  "SemrushBot",
  "serpstatbot",
  "SiteSucker",
  "Teleport Pro",
  "trafilatura",
  "WebCopier",
  "WebReaper",
  "WebZIP",
  "ZoominfoBot",
];

/** Crawlers for AI, as their user agents name them. */
export const AI_AGENT_NAMES: readonly string[] = AI_CRAWLER_NAMES.filter((name) => !ONLY_IN_ROBOTS.has(name));

/** The built-in list of scrapers. */
export const SCRAPER_NAMES: readonly string[] = [...AI_AGENT_NAMES, ...COPIERS];
