// docs/guards.md#policies-at-a-route: each policy at each type of route, over each version of HTTP.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const OWN = "https://own.example.com";
const TEXT = "a line of text that is long enough to be compressed\n".repeat(100);
const port = freePort();
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const folder = mkdtempSync("/tmp/policies-everywhere-");
writeFileSync(join(folder, "a.txt"), TEXT);
writeFileSync(join(folder, "a.php"), "");
const origin = EchoOrigin.start();
origin.on("/a.txt", (call) => call.reply("200 OK", ["Content-Type: text/plain"], TEXT));
const scripts = FastCgiOrigin.start();
for (const prefix of ["/php", "/limited-fastcgi"])
  scripts.on(`${prefix}/a.php`, (call) => call.respond(`Content-Type: text/plain\r\n\r\n${TEXT}`));
const policies = {
  cors: { allowed_origins: [OWN], allowed_methods: ["PUT"] },
  security_headers: { frame_options: "DENY" },
  access_log: { fields: ["event", "path", "status", "protocol", "tls_version"] },
  allowed_methods: ["GET", "OPTIONS"],
  compression: { encodings: ["gzip"], min_bytes: 100 },
  errors: { 405: "./405.html", 429: "./405.html" },
};
/** A path of each type, with the route that it is of. */
const TYPES = {
  upstream: ["/up/a.txt", upstream("/up", origin, policies)],
  fastcgi: [
    "/php/a.php",
    { type: "upstream", prefix: "/php", target: scripts.url, fastcgi: { root: folder }, ...policies },
  ],
  static: ["/files/a.txt", { type: "static", prefix: "/files", dir: folder, ...policies }],
  function: ["/call", { type: "function", prefix: "/call", module: "./f.ts", ...policies }],
  respond: [
    "/say",
    {
      type: "respond",
      path: "/say",
      body: TEXT,
      headers: { response: { set: { "Content-Type": "text/plain" } } },
      ...policies,
    },
  ],
  redirect: ["/go", { type: "redirect", path: "/go", to: "https://other.example.com/", ...policies }],
} as const;
const limited = (route: object, name: string) => ({
  ...route,
  ...("path" in route ? { path: `/limited-${name}` } : { prefix: `/limited-${name}` }),
  rate_limit: [
    { requests: 3, window: "1h" },
    { requests: 100, window: "1h", key: "route" },
  ],
});
const gateway = await startGateway({
  config: {
    server: {
      access_log: { enabled: true },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      security_headers: { referrer_policy: "no-referrer" },
    },
  },
  routes: Object.entries(TYPES).flatMap(([name, [, route]]) => [route, limited(route, name)]),
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "405.html": "<p>own page</p>",
    "f.ts": `export default () => new Response(${JSON.stringify(TEXT)}, { headers: { "Content-Type": "text/plain" } });`,
  },
});
const h2 = await H2Client.connectTls(port);
const h3 = await H3Client.connect(port);
afterAll(() => {
  h2.close();
  h3.close();
  return stopAll(gateway, origin, scripts);
});

interface Answer {
  readonly status: number;
  field(name: string): string | null;
  readonly body: Buffer;
}
type Ask = (method: string, path: string, fields?: Readonly<Record<string, string>>) => Promise<Answer>;

const versions: Readonly<Record<string, Ask>> = {
  "HTTP/1.1": async (method, path, fields = {}) => {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    const reply = await gateway.once(request(`${method} ${path}`, lines));
    return { status: reply.status, field: (name) => reply.fields.get(name), body: reply.body };
  },
  "HTTP/2": async (method, path, fields = {}) => {
    const reply = await h2.request(
      head(
        method,
        path,
        Object.entries(fields).map(([n, v]) => [n.toLowerCase(), v] as const),
      ),
    );
    return { status: reply.status, field: (name) => reply.fields.get(name) ?? null, body: reply.body };
  },
  "HTTP/3": async (method, path, fields = {}) => {
    const reply = await h3.ask(method, path, fields as Record<string, string>);
    return {
      status: reply.status,
      field: (name) => (reply.fields[name] as string | undefined) ?? null,
      body: reply.body,
    };
  },
};

describe.each(Object.entries(versions))("over %s", (version, ask) => {
  test.each(Object.entries(TYPES))("%s", async (type, [path]) => {
    const reply = await ask("GET", path, { origin: OWN, "accept-encoding": "gzip" });
    const isText = type !== "redirect";
    expect([
      reply.status,
      reply.field("access-control-allow-origin"),
      reply.field("x-frame-options"),
      reply.field("referrer-policy"),
      reply.field("content-encoding"),
    ]).toEqual([isText ? 200 : 308, OWN, "DENY", "no-referrer", isText ? "gzip" : null]);
    const preflight = await ask("OPTIONS", path, { origin: OWN, "access-control-request-method": "PUT" });
    expect([preflight.status, preflight.field("access-control-allow-methods")]).toEqual([204, "PUT"]);
    const refused = await ask("DELETE", path, { origin: OWN, accept: "text/html" });
    expect([
      refused.status,
      refused.field("allow"),
      refused.field("access-control-allow-origin"),
      refused.body.toString(),
    ]).toEqual([405, type === "static" ? "GET, HEAD" : "GET, HEAD, OPTIONS", OWN, "<p>own page</p>"]);
    const below = path.slice(path.indexOf("/", 1) < 0 ? path.length : path.indexOf("/", 1));
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await ask("GET", `/limited-${type}${below}`)).status);
    const good = isText ? 200 : 308;
    // One bucket for a client, whatever version of HTTP it speaks.
    expect(statuses).toEqual(version === "HTTP/1.1" ? [good, good, good, 429] : [429, 429, 429, 429]);
  });
});

test("every line of the log has the fields that its route names, and those alone", async () => {
  for (const [path] of Object.values(TYPES)) {
    for (const protocol of ["HTTP/1.1", "HTTP/2.0", "HTTP/3.0"]) {
      const line = await gateway.log(
        `${path} over ${protocol}`,
        (one) => one.path === path && one.protocol === protocol,
      );
      expect(Object.keys(line)).not.toContain("client_ip");
    }
  }
});
