// Features beside each other: whatever a route has, there is one response, HEAD says what GET says, and no field comes twice. docs/phases.md
import { afterAll, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, type Settings, startGateway } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const TEXT = "a line of the text\n".repeat(200);
const USERS = {
  bob: "$argon2id$v=19$m=65536,t=2,p=1$avwHPgW6vC7kTlTObBHxZl79sZ87g6WJCe8ADhfF3eQ$fHg6JgZ4s5UlQT1iJML/A4lus8aG9sKHdKY2VAeajZY",
};
const CREDENTIALS = `Basic ${btoa("bob:pw")}`;

/** Features of a route, each with what it adds to the keys. */
const FEATURES: Readonly<Record<string, Settings>> = {
  cache: { cache: { enabled: true } },
  compress: { compression: { enabled: true, min_bytes: 10 } },
  auth: { auth: { basic: { users: USERS } } },
  limit: { rate_limit: { requests: 100_000, window: "1s" } },
  errors: { errors: { "5xx": "./sorry.html", intercept: true } },
  edits: {
    headers: {
      response: { set: { "X-Set": "{method}" }, add: { Link: "</a.css>; rel=preload" }, remove: ["X-Gone"] },
    },
  },
  match: { match: { header: { "X-Ask": true } } },
};
/** Those of routes that forward. */
const FORWARDING: Readonly<Record<string, Settings>> = {
  mirror: { mirror: { target: "MIRROR" } },
  sticky: { load_balancing: { policy: "sticky" } },
  hooks: { hooks: { module: "./hook.ts", bodies: true } },
};
const HOOK = `export default {
  onRequest(request) { request.headers.set("X-Hook", "in"); },
  onResponse(response) { response.headers.set("X-Hooked", "out"); },
};`;
const FUNCTION = `export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    const headers = { "Content-Type": "text/html", ETag: '"f"', "Cache-Control": "max-age=60" };
    if (pathname.endsWith("/none")) return new Response(null, { status: 204 });
    if (pathname.endsWith("/fail")) return new Response("it failed here", { status: 500 });
    return new Response(${JSON.stringify(TEXT)}, { headers });
  },
};`;

const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = ScriptedOrigin.start();
const mirror = ScriptedOrigin.start();

function script(call: OriginCall): void {
  const { method, target, fields } = call.request;
  const path = target.split("?", 1)[0]!;
  const lines = ["Content-Type: text/html", "Server: origin", "X-Gone: 1", "Vary: Accept-Language"];
  const whole = (status: string, more: readonly string[], body: string): void => {
    if (method !== "HEAD") return call.reply(status, [...lines, ...more], body);
    call.send(`HTTP/1.1 ${status}\r\n${[...lines, ...more, `Content-Length: ${body.length}`].join("\r\n")}\r\n\r\n`);
  };
  const tag = ['ETag: "v1"', "Cache-Control: max-age=60"];
  if (path === "/none") return call.send(`HTTP/1.1 204 No Content\r\n${lines.join("\r\n")}\r\n\r\n`);
  if (path === "/fail") return whole("500 Internal Server Error", [], "failed");
  if (path === "/cookies") return whole("200 OK", ["Set-Cookie: a=1", "Set-Cookie: b=2"], TEXT);
  if (path === "/hints") {
    call.send("HTTP/1.1 103 Early Hints\r\nLink: </h.css>; rel=preload\r\n\r\n");
    return whole("200 OK", tag, TEXT);
  }
  if (path === "/pieces") {
    const head = `HTTP/1.1 200 OK\r\n${[...lines, "Transfer-Encoding: chunked", "Trailer: X-Sum"].join("\r\n")}\r\n\r\n`;
    return call.send(method === "HEAD" ? head : `${head}5\r\nhello\r\n5\r\nworld\r\n0\r\nX-Sum: 10\r\n\r\n`);
  }
  if (fields.get("If-None-Match") === '"v1"') return call.send(`HTTP/1.1 304 Not Modified\r\nETag: "v1"\r\n\r\n`);
  whole("200 OK", tag, TEXT);
}
for (const one of [origin, mirror])
  one.otherwise(async (call) => {
    await call.body();
    script(call);
  });

/** No feature and all of them; in the long lane each alone, and each two. */
function combinations(features: Readonly<Record<string, Settings>>): [string, Settings][] {
  const names = Object.keys(features);
  const pairs = names.flatMap((one, i) => names.slice(i + 1).map((other) => [one, other]));
  return [[], ...(IS_LONG ? [...names.map((one) => [one]), ...pairs] : []), names].map((list) => [
    list.join("+") || "plain",
    Object.assign({}, ...list.map((name) => features[name])) as Settings,
  ]);
}

const base = { circuit_breaker: { failure_threshold: 100_000 } };
const target = { url: origin.url };
const TYPES: readonly [string, Settings, Readonly<Record<string, Settings>>][] = [
  ["upstream", { targets: [target], ...base }, { ...FEATURES, ...FORWARDING }],
  ["static", { dir: "./files" }, FEATURES],
  ["respond", { status: 200, body: TEXT, content_type: "text/html" }, FEATURES],
  ["redirect", { to: "/elsewhere{rest}", status: 307 }, FEATURES],
  ["function", { module: "./function.ts" }, FEATURES],
];
const routes = TYPES.flatMap(([type, own, features]) =>
  combinations(features).map(([name, keys]): Settings => ({ type, prefix: `/${type}/${name}`, ...own, ...keys })),
);

const gateway = await startGateway({
  config: {
    server: {
      cache: { enabled: true },
      cors: { allowed_origins: ["https://app.test"] },
      security_headers: { enabled: true },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: JSON.parse(JSON.stringify(routes).replaceAll("MIRROR", mirror.url)) as Settings[],
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "hook.ts": HOOK,
    "function.ts": FUNCTION,
    "sorry.html": "<p>sorry</p>",
    "files/text": TEXT,
    "files/hints": TEXT,
  },
});
afterAll(() => stopAll(gateway, origin, mirror));
const asks = await askers();

interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

type Ask = (method: string, path: string, fields: Readonly<Record<string, string>>, body?: string) => Promise<Answer>;

/** The same request over each version of HTTP, on one connection of each. */
async function askers(): Promise<Readonly<Record<string, Ask>>> {
  const [one, two, three] = await Promise.all([
    TlsClient.open(tlsPort, { serverName: "localhost" }),
    H2Client.connectTls(tlsPort),
    H3Client.connect(tlsPort),
  ]);
  const host = `localhost:${tlsPort}`;
  return {
    "HTTP/1.1": async (method, path, fields, body) => {
      const lines = Object.entries({ Host: host, ...fields }).map(([name, value]) => `${name}: ${value}`);
      const {
        status,
        fields: got,
        body: bytes,
      } = await one.exchange(request(`${method} ${path}`, lines, body), method);
      return { status, fields: got.list.map(([name, value]) => [name.toLowerCase(), value]), body: bytes };
    },
    "HTTP/2": async (method, path, fields, body) => {
      const own = Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value] as const);
      const pseudo = [
        [":method", method],
        [":scheme", "https"],
        [":path", path],
        [":authority", host],
      ] as const;
      const { status, lines, body: bytes, reset } = await two.request([...pseudo, ...own], body);
      expect(reset).toBe(-1);
      return { status, fields: lines.filter(([name]) => !name.startsWith(":")), body: bytes };
    },
    "HTTP/3": async (method, path, fields, body) => {
      const own = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
      const got = await three.ask(method, path, own, body === undefined ? {} : { pieces: [Buffer.from(body)] });
      const list = Object.entries(got.fields).flatMap(([name, value]) =>
        name.startsWith(":") ? [] : [value ?? ""].flat().map((each) => [name, each] as const),
      );
      return { status: got.status, fields: list, body: got.body };
    },
  };
}

/** Fields that may come once at most. */
const SINGLE =
  /^(date|server|via|content-length|content-type|content-encoding|content-range|etag|age|location|x-request-id|x-cache|last-modified|accept-ranges|x-content-type-options|access-control-allow-origin|retry-after|x-set|x-hooked)$/;
/** Those that differ from one response to the next. */
const VARIABLE =
  /^(date|age|x-request-id|x-cache|cache-status|set-cookie|connection|keep-alive|server-timing|alt-svc|ratelimit.*|x-ratelimit.*|x-set|content-length|transfer-encoding|trailer)$/;

function faultsOf(method: string, { status, fields, body }: Answer): string[] {
  const faults: string[] = [];
  const values = (name: string): string[] => fields.filter(([own]) => own === name).map(([, value]) => value);
  for (const name of new Set(fields.map(([own]) => own)))
    if (SINGLE.test(name) && values(name).length > 1) faults.push(`${name} twice: ${values(name).join(" | ")}`);
  const vary = values("vary")
    .join(",")
    .toLowerCase()
    .split(/\s*,\s*/);
  if (new Set(vary).size !== vary.length) faults.push(`Vary says a name twice: ${vary.join()}`);
  const length = values("content-length")[0];
  const isBodiless = method === "HEAD" || status === 204 || status === 304;
  if (isBodiless && body.length > 0) faults.push(`a body of ${body.length} bytes`);
  if (!isBodiless && length !== undefined && Number(length) !== body.length)
    faults.push(`Content-Length ${length}, ${body.length} bytes`);
  if (status === 204 && length !== undefined) faults.push("204 with Content-Length");
  if (fields.some(([name]) => name === "x-gone") && fields.some(([name]) => name === "x-set"))
    faults.push("X-Gone is there");
  return faults;
}

function plain({ fields, body }: Answer): Buffer {
  const coding = fields.find(([name]) => name === "content-encoding")?.[1] ?? "";
  const decode = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[coding];
  return decode === undefined ? body : decode(body);
}

function stable({ status, fields }: Answer): string[] {
  const kept = fields.filter(([name]) => !VARIABLE.test(name));
  return [String(status), ...kept.map(([name, value]) => `${name}: ${value}`).sort()];
}

/** HEAD may leave the length out, but says no other one. */
function lengthFault(get: Answer, head: Answer): string {
  const [own, other] = [get, head].map(({ fields }) => fields.find(([name]) => name === "content-length")?.[1]);
  return own === undefined || other === undefined || own === other ? "" : `${other} bytes, ${own} of GET`;
}

const CALLS: readonly [string, Readonly<Record<string, string>>, string?][] = [
  ["GET", {}],
  ["GET", {}],
  ["GET", { "Accept-Encoding": "gzip" }],
  ["GET", { "Accept-Encoding": "br, gzip;q=0.5" }],
  ["GET", { Range: "bytes=0-9" }],
  ["GET", { Range: "bytes=0-9", "Accept-Encoding": "gzip" }],
  ["GET", { "If-None-Match": '"v1"', Origin: "https://app.test" }],
  ["GET", { Accept: "text/html", Origin: "https://app.test", "Accept-Encoding": "zstd" }],
  ["OPTIONS", {}],
  ["POST", { "Content-Type": "text/plain" }, "a body"],
  ["POST", { "Content-Type": "text/plain", Expect: "100-continue" }, "a body"],
  ["GET", { TE: "trailers" }],
];
const PATHS = ["/text", "/none", "/fail", "/cookies", "/hints", "/pieces"];

/** Whether two responses to the same request differ in more than they may. */
function differences(one: Answer, other: Answer): string {
  const [mine, its] = [stable(one), stable(other)];
  const alone = (list: string[], rest: string[]): string[] => list.filter((line) => !rest.includes(line));
  const [lost, more] = [alone(mine, its), alone(its, mine)];
  return lost.length + more.length === 0 ? "" : `${lost.join("; ")} in place of ${more.join("; ")}`;
}

/** What is wrong with the text of a response. */
function textFault(path: string, method: string, answer: Answer): string {
  try {
    const text = plain(answer).toString();
    if (answer.status === 206 && text.length !== 10) return `a part of ${text.length} bytes`;
    if (answer.status === 200 && method === "GET" && path === "/text" && text !== TEXT) return "another text";
    return answer.status >= 500 && path !== "/fail" ? `${answer.status} ${text}` : "";
  } catch (error) {
    return String(error);
  }
}

for (const { prefix, type } of routes as { prefix: string; type: string }[]) {
  test(`${prefix}: one response, alike over all versions, and HEAD as GET`, async () => {
    const always = { ...(prefix.includes("auth") ? { Authorization: CREDENTIALS } : {}), "X-Ask": "1" };
    const found: string[] = [];
    for (const path of type === "upstream" ? PATHS : ["/text", "/none", "/fail"]) {
      for (const [method, fields, body] of CALLS) {
        const at = `${method} ${path} ${JSON.stringify(fields)}`;
        let first: Answer | null = null;
        for (const [version, ask] of Object.entries(asks)) {
          const answer = await ask(method, `${prefix}${path}`, { ...fields, ...always }, body);
          const faults = [...faultsOf(method, answer), textFault(path, method, answer)];
          if (first === null) first = answer;
          else faults.push(differences(first, answer));
          // A range is asked for by GET alone: RFC 9110 §14.2.
          if (method === "GET" && fields.Range === undefined) {
            const head = await ask("HEAD", `${prefix}${path}`, { ...fields, ...always });
            const ofHead = [...faultsOf("HEAD", head), differences(answer, head), lengthFault(answer, head)];
            faults.push(...ofHead.filter((one) => one !== "").map((one) => `HEAD: ${one}`));
          }
          found.push(...faults.filter((one) => one !== "").map((one) => `${version} ${at}: ${one}`));
        }
      }
    }
    expect(found).toEqual([]);
  });
}
