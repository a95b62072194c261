// 5,000 ordinary requests: those written by hand, and as many made from word lists as are missing, the same in each run.
import type { WafQuestion } from "../../../../src/features/waf/waf-explanation.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";
import byHand from "../../../vectors/waf/ordinary.json";
import words from "../../../vectors/waf/ordinary-words.json";
import scanner from "../../../vectors/waf/scanner.json";
import { requestOf } from "./vector-request.ts";

/** All of them. A real request has a program that sends it, cookies, and a page that it comes from. */
export function ordinaryRequests(count: number): WafQuestion[] {
  const random = new SeededRandom(20240131);
  const requests = byHand.requests.map((vector) => dressed(requestOf(vector), random));
  while (requests.length < count) requests.push(dressed(random.pick(KINDS)(random), random));
  return requests;
}

type Kind = (random: SeededRandom) => WafQuestion;

const AGENTS = scanner.benign.filter((one) => one.startsWith("[User-Agent:] ")).map((one) => one.slice(14));
const KINDS: readonly Kind[] = [
  (r) => get(`/static/${r.pick(["app", "vendor", "main"])}.${hex(r, 8)}.js?v=${r.integer(1, 9)}.${r.integer(0, 20)}`),
  (r) =>
    get(
      `/search?${pairs({ q: r.pick(words.searches), page: r.integer(1, 9), sort: r.pick(["price_asc", "-date", "name"]) })}`,
    ),
  (r) =>
    get(
      `/search?${pairs({ q: `${r.pick(words.products)} ${r.pick(words.searches)}`, lang: r.pick(["en-US", "de", "pt-BR"]) })}`,
    ),
  (r) => get(`/suggest?${pairs({ term: r.pick(words.searches).slice(0, r.integer(1, 12)), _: r.integer(1, 1e9) })}`),
  (r) =>
    get(
      `/products?${pairs({ name: r.pick(words.products), "price[min]": r.integer(0, 50), "price[max]": r.integer(50, 900) })}`,
    ),
  (r) =>
    get(
      `/oauth/authorize?${pairs({ client_id: hex(r, 12), redirect_uri: url(r), response_type: "code", scope: "openid profile", state: base64(r), code_challenge: base64Url(r, 32) })}`,
    ),
  (r) =>
    get(
      `/callback?${pairs({ code: base64Url(r, 24), state: base64(r), id_token: jwt(r), iss: "https://id.example.test" })}`,
    ),
  (r) =>
    get(`/login?${pairs({ return_to: url(r), next: `/account?tab=${r.integer(1, 5)}&q=${r.pick(words.searches)}` })}`),
  (r) =>
    get(
      `/collect?${pairs({ v: 2, tid: `G-${hex(r, 8)}`, dl: url(r), dr: url(r), dt: r.pick(words.sentences), en: "page_view", sr: "1920x1080" })}`,
    ),
  (r) => get(`/odata/items?${escapedPairs(r.pick(words.odata))}`),
  (r) => get(`/img?${pairs({ url: url(r), w: r.integer(100, 2000), q: 75 })}`),
  (r) => get(`/e/${base64Url(r, 40)}?${pairs({ m: email(r), u: url(r), h: hex(r, 32) })}`),
  (r) =>
    get(
      `/map?${pairs({ q: r.pick(words.cities), bbox: `${r.next() * 90},${r.next() * 90}`, date: "2024-01-31T12:00:00+01:00" })}`,
    ),
  (r) => json("/api/comments", { author: name(r), email: email(r), text: text(r, 3), rating: r.integer(1, 5) }),
  (r) =>
    json("/api/articles", {
      title: text(r, 1),
      body: many(r, words.articles, 6).join("\n"),
      tags: many(r, words.products, 3),
    }),
  (r) => json("/api/pages", { slug: hex(r, 8), markdown: many(r, words.markdown, 5).join("\n\n"), author: name(r) }),
  (r) =>
    json("/api/orders", {
      customer: address(r),
      items: many(r, words.products, 4).map((sku) => ({ sku, n: r.integer(1, 9), price: r.next() * 100 })),
      note: text(r, 1),
    }),
  (r) =>
    json("/graphql", {
      query: r.pick(words.graphql),
      variables: { q: r.pick(words.searches), id: uuid(r), n: r.integer(1, 99) },
    }),
  (r) =>
    json("/api/errors", {
      message: r.pick(words.stacks),
      url: url(r),
      agent: r.pick(AGENTS),
      release: `v${r.integer(1, 9)}.0.0`,
    }),
  (r) =>
    json("/api/chat", {
      messages: many(r, words.sentences, 8).map((content) => ({ role: "user", content })),
      temperature: 0.7,
    }),
  (r) => json("/api/snippets", { language: "text", code: `${r.pick(words.markdown)}\n${r.pick(words.searches)}` }),
  (r) => json("/api/login", { username: email(r), password: r.pick(words.passwords), remember: true }),
  (r) =>
    json(
      "/api/events",
      many(r, words.searches, 10).map((q) => ({ event: "search", properties: { q, url: url(r), id: uuid(r) } })),
    ),
  (r) => form("/contact", { name: name(r), email: email(r), city: r.pick(words.cities), message: text(r, 4) }),
  (r) => form("/login", { user: email(r), password: r.pick(words.passwords), csrf: base64(r), return_to: url(r) }),
  (r) => form("/checkout", { ...address(r), note: r.pick(words.sentences), token: jwt(r) }),
  (r) =>
    form("/cms/save", {
      title: r.pick(words.sentences),
      body: many(r, words.articles, 4).join("\n"),
      excerpt: text(r, 1),
    }),
  (r) => form("/saml/acs", { SAMLResponse: Buffer.from(text(r, 12)).toString("base64"), RelayState: url(r) }),
  (r) => multipart(r),
];

function get(target: string): WafQuestion {
  return { method: "GET", target, headers: [], body: new Uint8Array(0) };
}

function json(target: string, value: unknown): WafQuestion {
  return {
    method: "POST",
    target,
    headers: ["Content-Type: application/json"],
    body: Buffer.from(JSON.stringify(value)),
  };
}

function form(target: string, fields: Record<string, string | number>): WafQuestion {
  const headers = ["Content-Type: application/x-www-form-urlencoded"];
  return { method: "POST", target, headers, body: Buffer.from(pairs(fields)) };
}

function multipart(r: SeededRandom): WafQuestion {
  const boundary = `----WebKitFormBoundary${hex(r, 16)}`;
  const head = (disposition: string) => `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n`;
  const file = r.pick(words.files).replaceAll('"', "%22");
  const body =
    `${head('name="title"')}\r\n${text(r, 1)}\r\n${head('name="note"')}\r\n${text(r, 2)}\r\n` +
    `${head(`name="file"; filename="${file}"`)}Content-Type: application/octet-stream\r\n\r\n` +
    `${r.bytes(64).toString("latin1")}\r\n--${boundary}--\r\n`;
  const headers = [`Content-Type: multipart/form-data; boundary=${boundary}`];
  return { method: "POST", target: "/upload", headers, body: Buffer.from(body) };
}

function dressed(request: WafQuestion, r: SeededRandom): WafQuestion {
  const has = (field: string) => request.headers.some((line) => line.toLowerCase().startsWith(field));
  const headers = [
    ...request.headers,
    "Accept: text/html,application/json;q=0.9,*/*;q=0.8",
    "Accept-Language: en-US,en;q=0.5",
  ];
  if (!has("user-agent")) headers.push(`User-Agent: ${r.pick(AGENTS)}`);
  if (!has("referer") && r.chance(0.5))
    headers.push(`Referer: https://www.example.test/p?${pairs({ q: r.pick(words.searches) })}`);
  if (!has("cookie") && r.chance(0.7))
    headers.push(
      `Cookie: ${many(r, COOKIES, 4)
        .map((one) => one(r))
        .join("; ")}`,
    );
  if (r.chance(0.3)) headers.push(`X-Request-Id: ${uuid(r)}`, "X-Requested-With: XMLHttpRequest");
  return { ...request, headers };
}

const COOKIES: readonly ((r: SeededRandom) => string)[] = [
  (r) => `_ga=GA1.2.${r.integer(1, 1e9)}.${r.integer(1, 1e9)}`,
  (r) =>
    `_ga_${hex(r, 8).toUpperCase()}=GS2.1.s${r.integer(1, 1e9)}$o${r.integer(1, 9)}$g1$t${r.integer(1, 1e9)}$j60$l0$h0`,
  (r) => `session=${base64Url(r, 32)}`,
  (r) => `jwt=${jwt(r)}`,
  (r) =>
    `prefs=${encodeURIComponent(JSON.stringify({ theme: "dark", city: r.pick(words.cities), q: r.pick(words.searches) }))}`,
  (r) => `OptanonConsent=isGpcEnabled=0&datestamp=Mon+Jan+01+2024&groups=C0001%3A1%2CC0002%3A${r.integer(0, 1)}`,
  (r) => `__utmz=1.${r.integer(1, 1e9)}.1.1.utmcsr=google|utmccn=(organic)|utmcmd=organic`,
  (r) => `last=${encodeURIComponent(r.pick(words.products))}`,
  (r) => `name=${encodeURIComponent(name(r))}`,
  (r) => `csrf=${base64(r)}`,
];

function pairs(fields: Record<string, string | number>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value)).replaceAll("%20", "+")}`)
    .join("&");
}

/** Encodes what stands between the signs of `a=1&b=2`. */
function escapedPairs(text: string): string {
  return text
    .split("&")
    .map((pair) => pair.split("=").map(encodeURIComponent).join("="))
    .join("&");
}

function many<T>(r: SeededRandom, from: readonly T[], most: number): T[] {
  return Array.from({ length: r.integer(1, most) }, () => r.pick(from));
}

function text(r: SeededRandom, most: number): string {
  return many(r, words.sentences, most).join(" ");
}

function name(r: SeededRandom): string {
  return `${r.pick(words.firstNames)} ${r.pick(words.lastNames)}`;
}

function email(r: SeededRandom): string {
  return `${r.pick(words.firstNames)}.${r.pick(words.lastNames)}+${r.integer(1, 99)}@example.test`.toLowerCase();
}

function address(r: SeededRandom): Record<string, string> {
  return {
    name: name(r),
    street: r.pick(words.streets),
    city: r.pick(words.cities),
    zip: String(r.integer(10000, 99999)),
  };
}

function url(r: SeededRandom): string {
  const host = r.pick([
    "https://app.example.test",
    "https://www.example.test:8443",
    "http://shop.example.test",
    "https://例え.test",
  ]);
  const query = r.chance(0.5)
    ? `?${pairs({ a: r.pick(words.searches), utm_source: "mail", id: r.integer(1, 999) })}`
    : "";
  return `${host}/${r.pick(["", "index.php", "a/b/c", "oauth/callback", "p/1-2_3~4", "docs/../x"])}${query}${r.chance(0.2) ? "#top" : ""}`;
}

function jwt(r: SeededRandom): string {
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256", typ: "JWT" })}.${part({ sub: uuid(r), name: name(r), iat: r.integer(1, 1e9) })}.${base64Url(r, 64)}`;
}

function base64(r: SeededRandom): string {
  return r.bytes(r.integer(8, 60)).toString("base64");
}

function base64Url(r: SeededRandom, bytes: number): string {
  return r.bytes(bytes).toString("base64url");
}

function hex(r: SeededRandom, digits: number): string {
  return r.bytes(digits).toString("hex").slice(0, digits);
}

function uuid(r: SeededRandom): string {
  return hex(r, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
