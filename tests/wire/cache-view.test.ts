// What an origin is shown of a request that is no part of the key must be the same for all requests with that key: else the
// first client decides what the others get. docs/security.md#cache-and-identity
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import type { Reply } from "../harness/raw-client.ts";

const cached = await CachedGateway.start({ max_entries: 10_000 });
// An origin that shows all that it sees, as an error page or a link would.
cached.origin.otherwise((call) => {
  const { method, target, fields } = call.request;
  const seen = Object.entries(fields.toObject()).filter(([name]) => name !== "x-request-id");
  call.reply("200 OK", [], JSON.stringify({ method, target, seen: seen.toSorted() }));
});
afterAll(() => cached.stop());

let paths = 0;
const nextPath = () => `/view-${String(paths++).padStart(6, "0")}`;
const plain = (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`;

/** What an origin sees of a plain request for a path, from one for another path. */
async function plainView(path: string): Promise<string> {
  const other = nextPath();
  return (await cached.gateway.once(plain(other))).text.replaceAll(other, path);
}

/** The view without the version that a client spoke: Via tells it, as it must (RFC 9110 §7.6.3). */
function withoutVersion(view: string): string {
  return view.replace(/"\d(\.\d)? edge"/, '"edge"');
}

/** Asks with an odd request first and plainly afterwards: what the plain client gets must be made for it. */
async function leavesNoTrace(path: string, odd: Promise<Reply>): Promise<string> {
  const first = await odd;
  const second = await cached.gateway.once(plain(path));
  expect(withoutVersion(second.text)).toBe(withoutVersion(await plainView(path)));
  return `${first.status} ${second.fields.get("x-cache")}`;
}

const NAMES = [
  "Forwarded",
  ...[
    "For",
    "Proto",
    "Host",
    "Port",
    "Prefix",
    "Server",
    "Scheme",
    "Ssl",
    "Path",
    "Uri",
    "User",
    "By",
    "Any-Other",
  ].map((part) => `X-Forwarded-${part}`),
  "X-Forwarded-Client-Cert",
  "X-Real-IP",
  "X-Client-IP",
  "True-Client-IP",
  "CF-Connecting-IP",
  ...["URL", "URI", "Host", "Method", "Path", "For"].map((part) => `X-Original-${part}`),
  ...["URL", "URI", "Path"].map((part) => `X-Rewrite-${part}`),
  "X-HTTP-Method",
  "X-HTTP-Method-Override",
  "X-Method-Override",
];

describe("a name that tells an origin who asks, and for what", () => {
  test.each(NAMES)("%s, over HTTP/1.1", async (name) => {
    const spellings = [name, name.toUpperCase(), name.replaceAll("-", "_"), name.toLowerCase().replace("-", "_")];
    for (const spelling of spellings) {
      for (const lines of [
        [`${spelling}: evil.test`],
        [`${spelling}: a`, `${spelling}: b`],
        [`Connection: ${spelling}`, `${spelling}: evil.test`],
      ]) {
        const path = nextPath();
        const odd = cached.gateway.once(`GET ${path} HTTP/1.1\r\nHost: gw.test\r\n${lines.join("\r\n")}\r\n\r\n`);
        expect([spelling, await leavesNoTrace(path, odd)]).toEqual([spelling, "200 HIT"]);
      }
    }
  });

  test.each(NAMES)("%s, over HTTP/2", async (name) => {
    const client = await H2Client.connect(cached.gateway.port);
    for (const spelling of [name.toLowerCase(), name.toLowerCase().replaceAll("-", "_")]) {
      const path = nextPath();
      const fields = head("GET", path).map(([key, value]) => [key, key === ":authority" ? "gw.test" : value]);
      await client.request([...fields, [spelling, "evil.test"]] as [string, string][]);
      const second = await cached.gateway.once(plain(path));
      expect([spelling, second.fields.get("x-cache"), second.text.includes("evil")]).toEqual([spelling, "HIT", false]);
    }
    client.close();
  });
});

describe("another way to ask for the same", () => {
  test.each([
    ["a Host in capitals", (path: string) => `GET ${path} HTTP/1.1\r\nHost: GW.Test\r\n\r\n`],
    ["a Host with an empty port", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test:\r\n\r\n`],
    ["blanks around Host", (path: string) => `GET ${path} HTTP/1.1\r\nHost: \t gw.test \t\r\n\r\n`],
    ["HTTP/1.0", (path: string) => `GET ${path} HTTP/1.0\r\nHost: gw.test\r\n\r\n`],
    ["the default port", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test:80\r\n\r\n`],
    ["a final dot", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test.\r\n\r\n`],
    ["absolute form", (path: string) => `GET http://gw.test${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["absolute form in capitals", (path: string) => `GET http://GW.TEST${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["absolute form, another scheme", (path: string) => `GET https://gw.test${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["absolute form in HTTP/1.0 without Host", (path: string) => `GET http://gw.test${path} HTTP/1.0\r\n\r\n`],
    ["HTTP/1.0 without Host", (path: string) => `GET ${path} HTTP/1.0\r\n\r\n`],
    ["two slashes", (path: string) => `GET /${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["an encoded letter", (path: string) => `GET ${path.replace("v", "%76")} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["dot segments", (path: string) => `GET /.${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["an empty query", (path: string) => `GET ${path}? HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["a fragment", (path: string) => `GET ${path}#evil HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["a body", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 4\r\n\r\nevil`],
    [
      "a chunked body with a trailer",
      (path: string) =>
        `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Evil: evil\r\n\r\n`,
    ],
    ["HEAD", (path: string) => `HEAD ${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    ["another method", (path: string) => `get ${path} HTTP/1.1\r\nHost: gw.test\r\n\r\n`],
    [
      "an upgrade",
      (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nConnection: Upgrade\r\nUpgrade: evil\r\n\r\n`,
    ],
    ["a precondition", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nIf-Match: "evil"\r\n\r\n`],
    [
      "Proxy-Authorization",
      (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nProxy-Authorization: x\r\n\r\n`,
    ],
    ["a named Host", (path: string) => `GET ${path} HTTP/1.1\r\nHost: gw.test\r\nConnection: host\r\n\r\n`],
  ] as const)("%s", async (_, odd) => {
    const path = nextPath();
    await leavesNoTrace(path, cached.gateway.once(odd(path)));
  });
});
