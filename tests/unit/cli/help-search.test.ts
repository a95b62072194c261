// The search of `edge help WORDS`, which the site of the documentation has as well. docs/tools.md#help
import { describe, expect, test } from "bun:test";
import { DocPages } from "../../../src/cli/help/doc-pages.ts";
import { HelpTopics } from "../../../src/cli/help/help-topics.ts";
import { pageEntries } from "../../../src/cli/help/search/help-entries.ts";
import { HelpSearch, MAX_FOUND } from "../../../src/cli/help/search/help-search.ts";
import { type SearchEntry, SearchIndex } from "../../../src/cli/help/search/search-index.ts";
import { docSections, firstSentence } from "../../../src/cli/help/search/sections.ts";
import { SUBJECTS } from "../../../src/cli/help/search/subjects.ts";
import { stemOf, wordsOf } from "../../../src/cli/help/search/words.ts";
import { listing } from "../../../src/cli/main.ts";

const pages = new DocPages();
const commands = (await listing()).map(({ name, summary }) => [name, summary] as const);
const search = new HelpSearch(pages, new HelpTopics(), commands);
const first = (words: string) => search.find(words).entries[0]?.name ?? "";

/** What operators type, and what must come first. */
const PHRASES: readonly (readonly [words: string, place: string])[] = [
  ["letsencrypt", "acme"],
  ["let's encrypt", "acme"],
  ["certbot", "acme"],
  ["wildcard certificate", "acme#dns-01"],
  ["renew a certificate", "acme#renewal"],
  ["ssl", "tls"],
  ["https", "tls"],
  ["redirect http to https", "tls#redirect"],
  ["how do I force https", "tls#redirect"],
  ["tls versions", "tls#versions-and-suites"],
  ["ciphers", "tls#versions-and-suites"],
  ["mtls", "authentication#client-certificates"],
  ["client certificates", "authentication#client-certificates"],
  ["basic auth", "authentication#passwords"],
  ["htpasswd", "authentication#passwords"],
  ["jwt", "authentication#tokens"],
  ["bearer token", "authentication#tokens"],
  ["sso", "authentication#openid-connect"],
  ["google login", "authentication#openid-connect"],
  ["oidc", "authentication#openid-connect"],
  ["forward auth", "authentication#authentication-services"],
  ["rate limit", "guards#rate-limits"],
  ["too many requests", "guards#rate-limits"],
  ["429", "guards#rate-limits"],
  ["ip whitelist", "guards#address-rules"],
  ["allowlist", "guards#address-rules"],
  ["block an ip", "guards#address-rules"],
  ["geoip", "guards#countries-and-networks"],
  ["cors", "guards#cors"],
  ["hsts", "guards#security-headers"],
  ["csrf", "security"],
  ["ddos", "security#resources-of-one-client"],
  ["captcha", "bots"],
  ["robots.txt", "bots#robotstxt"],
  ["owasp", "waf"],
  ["sql injection", "waf"],
  ["false positives", "waf#false-positives"],
  ["403", "waf#false-positives"],
  ["disable waf for one route", "waf#at-a-route"],
  ["real ip", "security#client-addresses"],
  ["cloudflare", "security#client-addresses"],
  ["users behind cloudflare have the wrong ip", "security#client-addresses"],
  ["proxy protocol", "wire#proxies-in-front"],
  ["gzip", "compression"],
  ["brotli", "compression"],
  ["zstd", "compression"],
  ["serve brotli files", "compression"],
  ["cache purge", "cache#purge"],
  ["soft purge", "cache#soft-purge"],
  ["why is my response not cached", "cache#why-not"],
  ["stale while revalidate", "cache#stale-responses"],
  ["etag", "files#fields-of-a-response"],
  ["static files", "files"],
  ["spa", "files#fallbacks"],
  ["try_files", "files#fallbacks"],
  ["404 page", "pages"],
  ["custom error page", "pages"],
  ["maintenance page", "pages#maintenance"],
  ["404", "routing#no-route"],
  ["vhost", "routing#hosts"],
  ["virtual host", "routing#hosts"],
  ["rewrite url", "routing#rewrite"],
  ["redirect www to non-www", "answers#redirects"],
  ["301", "answers#redirects"],
  ["load balancer", "upstreams#balancing"],
  ["round robin", "upstreams#balancing"],
  ["sticky session", "upstreams#sticky-clients"],
  ["healthcheck", "upstreams#health-checks"],
  ["circuit breaker", "upstreams#circuit-breaker"],
  ["retries", "upstreams#retries"],
  ["timeout", "upstreams#time-limits"],
  ["504 gateway timeout", "upstreams#time-limits"],
  ["502 bad gateway", "troubleshooting#debug-a-502"],
  ["bad gateway", "troubleshooting#debug-a-502"],
  ["upstream down", "troubleshooting#debug-a-502"],
  ["add header", "upstreams#header-edits"],
  ["websocket", "upstreams#upgrades"],
  ["proxy websockets", "upstreams#upgrades"],
  ["reverse proxy", "jobs#proxy-below-a-prefix"],
  ["node app", "jobs#proxy-below-a-prefix"],
  ["next.js", "jobs#proxy-below-a-prefix"],
  ["sse", "recipes#server-sent-events"],
  ["client_max_body_size", "bodies#limits"],
  ["limit upload size to 50 MB", "bodies#limits"],
  ["http3", "wire#http3"],
  ["quic", "wire#http3"],
  ["http/2", "wire#http2"],
  ["php-fpm", "php"],
  ["wordpress", "php"],
  ["tcp", "streams"],
  ["grpc", "transcoder"],
  ["grpc-web", "transcoder#grpc-web"],
  ["serverless", "functions"],
  ["edge functions", "functions"],
  ["cron job", "functions#schedules"],
  ["a/b test", "functions-recipes#ab-test"],
  ["service mesh", "sidecar"],
  ["spiffe", "sidecar#workload-api"],
  ["docker", "install#in-a-container"],
  ["kubernetes", "kubernetes"],
  ["k8s ingress", "kubernetes-ingress"],
  ["systemd", "install#on-debian-and-ubuntu"],
  ["migrate from nginx", "migrate-nginx"],
  ["caddyfile", "migrate-caddy"],
  ["environment variables", "configuration#values"],
  ["hot reload", "operations#reload"],
  ["zero downtime", "operations#replacing-the-binary"],
  ["upgrade binary", "operations#replacing-the-binary"],
  ["log rotation", "operations#log-files"],
  ["access log", "operations#access-log"],
  ["prometheus", "observe#metrics"],
  ["grafana", "tools#grafana-and-alerts"],
  ["opentelemetry", "tracing"],
  ["canary", "jobs#a-canary"],
  ["blue green deployment", "jobs#a-canary"],
  ["redis cluster", "fleet"],
];

describe("what comes first of", () => {
  test.each(PHRASES)("%s: %s", (words, place) => {
    expect(first(words)).toBe(place);
  });

  test("a hundred phrases and more", () => {
    expect(new Set(PHRASES.map(([words]) => words)).size).toBe(PHRASES.length);
    expect(PHRASES.length).toBeGreaterThanOrEqual(100);
  });

  test("each phrase of a subject: its place, which is there", () => {
    const places = new Set(pageEntries(pages).map(({ name }) => name));
    const phrases = SUBJECTS.flatMap(([place, all]) => all.map((phrase) => [place, phrase] as const));
    expect(phrases.filter(([place]) => !places.has(place))).toEqual([]);
    expect(phrases.filter(([place, phrase]) => first(phrase) !== place)).toEqual([]);
  });

  test("words that nothing has, and words that say nothing: nothing", () => {
    for (const words of ["xyzzy", "how do I", "nothing", "", "xyzzy tls plugh", "?".repeat(10_000)]) {
      expect([words, search.find(words).entries]).toEqual([words, []]);
    }
  });

  test("any words: at most ten, no name twice, always the same", () => {
    for (const words of ["route", "timeout header cache", "certificate ".repeat(200)]) {
      const names = search.find(words).entries.map(({ name }) => name);
      expect(names.length).toBeLessThanOrEqual(MAX_FOUND);
      expect(new Set(names).size).toBe(names.length);
      expect(search.find(words).entries.map(({ name }) => name)).toEqual(names);
    }
  });
});

describe("the order of what is found", () => {
  const entry = (name: string, parts: Partial<SearchEntry>, kind: SearchEntry["kind"] = "page"): SearchEntry => {
    return { name, kind, title: "Other", heading: "Other things", first: "", text: "", ...parts };
  };
  const order = (words: string, ...entries: SearchEntry[]) =>
    new SearchIndex(entries).find(words, 10).map((found) => found.entry.name);

  test("titles, headings, names, first sentences, text", () => {
    const entries = [
      entry("text", { text: "a lamp" }),
      entry("first", { first: "The lamp." }),
      entry("key", { title: "", heading: "server.lamp" }, "name"),
      entry("heading", { heading: "Its lamp" }),
      entry("title", { title: "The lamp", heading: "The lamp" }),
      entry("none", { text: "dark" }),
    ];
    const found = order("lamp", ...entries);
    expect(found.filter((name) => name !== "key")).toEqual(["title", "heading", "first", "text"]);
    expect(found.indexOf("key")).toBeGreaterThan(found.indexOf("heading"));
    expect(found.indexOf("key")).toBeLessThan(found.indexOf("text"));
  });

  test("whole words, other forms of them, beginnings of words where there is neither", () => {
    const whole = entry("whole", { heading: "Cached" });
    const form = entry("form", { heading: "Caching" });
    const longer = entry("longer", { heading: "Cachedness" });
    expect(order("cached", longer, form, whole)).toEqual(["whole", "form"]);
    expect(order("cachedn", longer, form, whole)).toEqual(["longer"]);
  });

  test("all of the words before some, rare words before frequent ones", () => {
    const both = entry("both", { text: "red lamp" });
    const rare = entry("rare", { text: "lamp" });
    const others = Array.from({ length: 20 }, (_, i) => entry(`red${i}`, { text: "red" }));
    expect(order("red lamp", ...others, rare, both).slice(0, 2)).toEqual(["both", "rare"]);
  });

  test("pages before what has a name, that before rules and other files, and among equals the earlier", () => {
    const kinds: SearchEntry["kind"][] = ["aside", "rule", "name", "command", "page"];
    const entries = kinds.map((kind) => entry(kind, { first: "A lamp." }, kind));
    expect(order("lamp", ...entries)).toEqual(["page", "command", "name", "aside", "rule"]);
    expect(order("lamp", entry("b", { text: "lamp" }), entry("a", { text: "lamp" }))).toEqual(["b", "a"]);
  });

  test("what people call so before what has the words, the phrase of most words first", () => {
    const entries = [entry("title", { title: "Big lamp", heading: "Big lamp" }), entry("sun", {}), entry("star", {})];
    const index = new SearchIndex(entries, [
      ["sun", ["lamp"]],
      ["star", ["big lamp"]],
      ["gone", ["big lamp"]],
    ]);
    const names = (words: string) => index.find(words, 10).map((found) => found.entry.name);
    expect(names("lamps")[0]).toBe("sun");
    expect(names("lamp, big")[0]).toBe("star");
    expect(index.find("big", 10)[0]!.isSubject).toBe(false);
  });
});

test("words are without signs, and those of questions left out; stems keep three letters", () => {
  expect(wordsOf("How do I set Let's-Encrypt's max_body of the server?")).toEqual([
    "lets",
    "encrypts",
    "max",
    "body",
    "server",
  ]);
  const families = [
    ["certificate", "certificates"],
    ["retry", "retries", "retried"],
    ["limit", "limits", "limited"],
    ["cache", "cached", "caching"],
  ];
  for (const family of families) expect(new Set(family.map(stemOf)).size).toBe(1);
  expect(["https", "dns", "rate", "use", "ss"].map(stemOf)).toEqual(["https", "dns", "rat", "use", "ss"]);
});

test("sections have the anchors of readers of Markdown, and a first sentence without marks", () => {
  const page =
    "# A `b`\n\n```yaml\n# no heading\n```\n\n- [x](y.md#z) is **it**. More.\n- c\n\n## Same\n\n| a |\n\n## Same\n";
  const sections = docSections(page);
  expect(sections.map(({ anchor, level }) => [anchor, level])).toEqual([
    ["a-b", 1],
    ["same", 2],
    ["same-1", 2],
  ]);
  expect(sections.map(({ lines }) => firstSentence(lines))).toEqual(["x is it.", "", ""]);
});
