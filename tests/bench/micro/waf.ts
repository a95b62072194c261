// What the WAF costs: the URL rules, the headers of a browser, an attack, and bodies.
import { WafInspector } from "../../../src/features/waf/waf-inspector.ts";
import { RequestHead } from "../../../src/message/request-head.ts";
import { RequestParser } from "../../../src/proto/h1/request-parser.ts";
import { inspectWhole } from "../../harness/waf-bodies.ts";
import { bench } from "../micro-registry.ts";

const NO_ROUTES = { exactId: () => -1, prefixId: () => -1 };
const inspector = new WafInspector([], NO_ROUTES);

function headOf(target: string, lines: readonly string[] = []): RequestHead {
  const bytes = Buffer.from(
    ["GET ", target, " HTTP/1.1\r\nHost: a.test\r\n", ...lines.map((line) => `${line}\r\n`), "\r\n"].join(""),
  );
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  if (parser.parse(bytes, bytes.length, head) !== bytes.length) throw new Error(`${target}: not a request`);
  return head;
}

function benchHead(name: string, head: RequestHead, isAttack = false): void {
  if (inspector.inspect(head) > 0 !== isAttack) throw new Error(`waf: ${name} is judged wrongly`);
  bench(`waf: ${name}`, () => inspector.inspect(head));
}

function benchBody(name: string, type: string, text: string): void {
  const head = headOf("/api", [`Content-Type: ${type}`]);
  const body = Buffer.from(text);
  const inspect = (): number => inspectWhole(inspector, head, 0, body);
  if (inspect() > 0) throw new Error(`waf: ${name} is judged wrongly`);
  bench(`waf: ${name}`, inspect);
}

const BROWSER = [
  "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
  "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
  "Accept-Language: en-US,en;q=0.5",
  "Accept-Encoding: gzip, deflate, br",
  "Referer: https://shop.example.test/women/shoes?page=2&sort=price_asc",
  "Cookie: _ga=GA1.2.1234567890.1700000000; session=hGq3kTz9vVbN2mXw8cRj5yLp; lang=en-US; theme=dark",
];
const QUERY =
  "/search?q=red+running+shoes&category=footwear&page=2&sort=price_asc&utm_source=newsletter&utm_campaign=spring_2024";
const OAUTH =
  "/authorize?client_id=web&redirect_uri=https%3A%2F%2Fapp.example.test%2Fauth%2Fcallback&response_type=code&scope=openid+profile&state=af0ifjsldkj";
const ROWS = Array.from({ length: 27 }, (_, i) => ({
  id: i * 7919,
  name: `Jane Doe ${i}`,
  mail: `jane${i}@example.test`,
  note: "The quick brown fox jumps over the lazy dog, then rests a while.",
}));

benchHead("path without a query", headOf("/static/app.3f2a.js"));
benchHead(`query of ${QUERY.length - 8} bytes`, headOf(QUERY));
benchHead(`query of ${OAUTH.length - 11} bytes with escapes`, headOf(OAUTH));
benchHead("query and the headers of a browser", headOf(QUERY, BROWSER));
benchHead("query with O'Brien and a select", headOf("/search?q=O%27Brien+and+sons&a=select+a+plan"));
benchHead("attack in the query", headOf("/item?id=1%27%20union%20select%201,2,3--"), true);
benchHead("attack in the path", headOf("/static/%2e%2e/%2e%2e/etc/passwd"), true);
benchBody(`JSON of ${JSON.stringify(ROWS).length} bytes`, "application/json", JSON.stringify(ROWS));
benchBody(
  "form of 1 KiB",
  "application/x-www-form-urlencoded",
  `text=${"The+quick+brown+fox%2C+then+rests. ".trim().repeat(29)}`,
);
const prose = { text: "It's the players' room; 'select' a plan & drop by, isn't it? ".repeat(66) };
benchBody("JSON of 4 KiB of prose with quotes", "application/json", JSON.stringify(prose));
