// Whatever chooses, counts, caches or lets in by a field or a cookie reads it as it will be sent. docs/security.md#one-key
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const seed = Number(process.env.KEY_SEED ?? 1);
const KEYED = ["X-Device", "X-Tier", "X-Forwarded-Proto", "X-Scheme", "Accept-Language", "X-Set", "Front-End-Https"];
const COOKIES = ["lang", "my_theme"];

/** What an application makes of a request by what is in the key: names folded as CGI and PHP do, cookies trimmed. */
function seenBy({ request: { fields } }: OriginCall): string {
  const folded = new Map<string, string[]>();
  for (const [name, value] of fields.list) {
    const own = name.toLowerCase().replace(/[^a-z0-9]/g, "-");
    folded.set(own, [...(folded.get(own) ?? []), value]);
  }
  const seen = [...KEYED, "Accept-Encoding"].map((name) => `${name}=${folded.get(name.toLowerCase()) ?? ""}`);
  const pairs = (folded.get("cookie") ?? []).flatMap((field) => field.split(";"));
  for (const wanted of COOKIES) {
    const found = pairs.filter(
      (pair) =>
        pair
          .split("=")[0]!
          .trim()
          .replace(/[. [+]/g, "_") === wanted,
    );
    seen.push(`${wanted}: ${found.map((pair) => pair.trim())}`);
  }
  return seen.join("|");
}

const origin = ScriptedOrigin.start();
origin.otherwise(async (call) => {
  await call.body();
  call.reply("200 OK", ["Cache-Control: public, max-age=60"], seenBy(call));
});
const echo = EchoOrigin.start();
const pair = Array.from({ length: 5 }, () => EchoOrigin.start());
const service = ScriptedOrigin.start();
service.otherwise((call) => {
  const isFriend = call.request.fields.get("x-tenant") === "friend";
  call.reply(isFriend ? "200 OK" : "403 Forbidden", [], "");
});
/** Two origins that say which they are, and name the target and tenant of a request; a slow one is asked twice by a hedge. */
const places = ["one", "two"].map((name) => {
  const place = ScriptedOrigin.start();
  place.otherwise(async (call) => {
    await call.body();
    const { target, fields } = call.request;
    if (target.includes("slow")) await Bun.sleep(name === "one" ? 400 : 0);
    const seen = `${name} ${target} ${fields.get("x-tenant") ?? ""}`;
    call.reply("200 OK", ["Cache-Control: max-age=1, stale-while-revalidate=60", "X-Inner: secret"], seen);
  });
  return place;
});
const HOOK = `export default {
  onRequest(request) {
    const url = new URL(request.url);
    if (url.pathname.includes("deny")) return new Response("no", { status: 403 });
    const to = request.headers.get("x-to");
    const headers = new Headers(request.headers);
    headers.delete("authorization");
    if (to !== null) url.pathname = "/hook/" + to;
    return to === null && !request.headers.has("authorization") ? undefined : new Request(url, { headers });
  },
  onResponse(response) {
    const headers = new Headers(response.headers);
    headers.delete("x-inner");
    headers.set("X-Hooked", "yes");
    return new Response("public", { headers });
  },
};`;
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const targets = pair.map(({ url }) => ({ url }));
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      waf: { enabled: false },
      cache: { enabled: true, cookies: "share" },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      trusted_proxies: ["127.0.0.9/32"],
    },
  },
  maps: {
    place: { of: "{cookie.tenant}", values: { two: places[1]!.url }, default: places[0]!.url },
    tenant: { of: "{cookie.tenant}", values: { one: "one" }, default: "{cookie.tenant}" },
  },
  routes: [
    { type: "upstream", prefix: "/map", target: "{map.place}" },
    upstream("/path", places[0]!, { rewrite: { path: "/x/{map.tenant}{rest}" } }),
    upstream("/regex", places[0]!, { rewrite: { regex: "^/regex/(.*)$", to: "/x/{header.X-Other}/{match.1}" } }),
    { type: "static", prefix: "/files", dir: "files", rewrite: { path: "/{map.tenant}/a.txt" } },
    upstream("/hook", places[0]!, { hooks: "./h.ts" }),
    upstream("/hedge", places[0]!, {
      target: undefined,
      targets: places.map(({ url }) => ({ url })),
      hedge: { after: "20ms" },
      headers: { request: { set: { "X-Tenant": "{map.tenant}" } } },
      cache: false,
    }),
    upstream("/mirror", places[0]!, {
      mirror: { target: places[1]!.url },
      headers: { request: { set: { "X-Tenant": "{map.tenant}" } } },
      cache: false,
    }),
    {
      ...upstream("/c", origin),
      cache: { enabled: true, key: { headers: KEYED, cookies: COOKIES } },
      headers: { request: { set: { "X-Set": "{header.X-Other}" } } },
    },
    upstream("/m", echo, {
      match: { header: { "X-Team": "blue" } },
      headers: { request: { set: { "X-Route": "blue" } } },
      cache: false,
    }),
    upstream("/m", echo, { headers: { request: { set: { "X-Route": "rest" } } }, cache: false }),
    { type: "upstream", prefix: "/h", targets, load_balancing: { policy: "header", header: "X-Shard" }, cache: false },
    { type: "upstream", prefix: "/k", targets, load_balancing: { policy: "cookie", cookie: "shard" }, cache: false },
    upstream("/l", echo, { rate_limit: { requests: 1, window: "1h", key: "header:X-Api-Key" }, cache: false }),
    upstream("/a", echo, {
      auth: { forward: { url: `http://127.0.0.1:${service.port}/`, request_headers: ["X-Tenant"], cache: "60s" } },
      cache: false,
    }),
    upstream("/p", echo, {
      headers: { request: { set: { "X-Seen": "[{header.X-Team}][{cookie.lang}]" } } },
      cache: false,
    }),
  ],
  files: {
    "a.pem": certificate.cert,
    "a.key": certificate.key,
    "h.ts": HOOK,
    "files/one/a.txt": "one",
    "files/two/a.txt": "two",
  },
});
afterAll(() => stopAll(gateway, origin, echo, service, ...pair, ...places));

type Field = readonly [name: string, value: string];
type Ask = (path: string, fields: readonly Field[]) => Promise<{ status: number; text: string }>;
const overHttp1: Ask = (path, fields) =>
  gateway.once(
    request(
      `GET ${path}`,
      fields.map(([name, value]) => `${name}: ${value}`),
    ),
  );
const overHttp2: Ask = async (path, fields) => {
  const client = await H2Client.connect(gateway.port);
  const own = fields
    .filter(([name]) => name !== "Connection")
    .map(([name, value]) => [name.toLowerCase(), value] as const);
  const reply = await client.request([
    [":method", "GET"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "gw.test"],
    ...own,
  ]);
  client.close();
  return { status: reply.status, text: reply.body.toString() };
};
const overHttp3: Ask = async (path, fields) => {
  const client = await H3Client.connect(port);
  const own = Object.fromEntries(
    fields.filter(([name]) => name !== "Connection").map(([name, value]) => [name.toLowerCase(), value]),
  );
  const reply = await client.ask("GET", path, own);
  client.close();
  return { status: reply.status, text: reply.body.toString() };
};
const ways: readonly (readonly [string, Ask])[] = [
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
  ["HTTP/3", overHttp3],
];

const OTHER_SPELLINGS: readonly (readonly [string, readonly Field[]])[] = [
  [
    "named by Connection",
    [
      ["Connection", "X-Device"],
      ["X-Device", "evil"],
    ],
  ],
  ["folded", [["X_Device", "evil"]]],
  ["folded by a dot", [["X.Device", "evil"]]],
  ["in capitals and folded", [["X_DEVICE", "evil"]]],
  ["taken off: proto", [["X-Forwarded-Proto", "evil"]]],
  ["taken off: scheme", [["X-Scheme", "evil"]]],
  ["taken off: front end", [["Front-End-Https", "on"]]],
  ["a field that the route sets", [["X-Set", "evil"]]],
  ["a field of which the route sets one", [["X-Other", "evil"]]],
  ["folded coding", [["Accept_Encoding", "evil"]]],
  ["a cookie with space", [["Cookie", "lang =evil"]]],
  ["a cookie with a tab", [["Cookie", "lang\t=evil"]]],
  ["a cookie with space before its value", [["Cookie", "lang= evil"]]],
  ["a cookie that PHP renames", [["Cookie", "my.theme=evil"]]],
  ["a cookie within quotes", [["Cookie", 'x="; lang=evil; y="']]],
  ["a cookie after a comma", [["Cookie", "x=1, lang=evil"]]],
];

describe.each(ways)("over %s", (name, ask) => {
  const path = (): string => `/c/${name.replaceAll(/\W/g, "")}-${++paths}`;

  test.each(OTHER_SPELLINGS)("no other client gets what was made for a field %s", async (_, fields) => {
    const own = path();
    await ask(own, fields);
    const plain = (await ask(own, [])).text;
    expect(plain).toBe((await ask(path(), [])).text);
    expect(plain).not.toContain("evil");
  });

  test(`two requests with one key send the same, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    const rounds = name === "HTTP/3" ? 20 : 150;
    const own = path();
    for (let i = 0; i < rounds; i++) {
      const fields = fieldsFrom(random);
      const cached = (await ask(own, fields)).text;
      const fresh = (await ask(path(), fields)).text;
      expect([fields, cached]).toEqual([fields, fresh]);
    }
  }, 120_000);

  test("match, hashes, limits, verdicts and placeholders do not see what is not sent", async () => {
    const blue = async (...fields: Field[]) => {
      const { headers } = JSON.parse((await ask("/m", fields)).text) as Echo;
      const sent = Object.keys(headers).filter((one) => /^x.team$/.test(one));
      return [headers["x-route"], sent.length > 0];
    };
    expect(await blue(["X-Team", "blue"])).toEqual(["blue", true]);
    for (const other of ["X_Team", "X.Team", "x_TEAM"])
      expect([other, await blue([other, "blue"])]).toEqual([other, ["rest", false]]);
    if (name === "HTTP/1.1") expect(await blue(["Connection", "X-Team"], ["X-Team", "blue"])).toEqual(["rest", false]);

    const verdict = async (...fields: Field[]) => (await ask("/a", fields)).status;
    expect(await verdict(["X-Tenant", "friend"])).toBe(200);
    expect(await verdict(["X_Tenant", "friend"])).toBe(403);
    const seen = JSON.parse(
      (
        await ask("/a", [
          ["X-Tenant", "friend"],
          ["X_Tenant", "root"],
        ])
      ).text,
    ) as Echo;
    expect(seen.headers.x_tenant).toBeUndefined();

    const placed = async (...fields: Field[]) => (JSON.parse((await ask("/p", fields)).text) as Echo).headers["x-seen"];
    expect(await placed(["X-Team", "a"], ["Cookie", "x=1; lang =de"])).toBe("[a][de]");
    expect(await placed(["X_Team", "a"])).toBe("[][]");
  });
});

let paths = 0;

function fieldsFrom(random: SeededRandom): Field[] {
  const fields: Field[] = [];
  const names = [
    ...KEYED,
    "X_Device",
    "X.Tier",
    "x_tier",
    "Accept_Language",
    "Accept-Encoding",
    "Accept_Encoding",
    "X-Other",
    "X_Set",
    "X_Scheme",
  ];
  for (let i = random.integer(0, 3); i > 0; i--) fields.push([random.pick(names), random.pick(["a", "b"])]);
  if (random.chance(0.3))
    fields.push(["Connection", random.pick(["X-Device", "X-Tier", "close, X-Device", "Accept-Language"])]);
  if (random.chance(0.6)) {
    let cookie = "";
    const bits = [
      "lang",
      " lang ",
      "my_theme",
      "my.theme",
      "my theme",
      "a",
      "b",
      "=",
      "=",
      ";",
      "; ",
      " ",
      '"',
      ",",
      "\t",
    ];
    for (let i = random.integer(1, 9); i > 0; i--) cookie += random.pick(bits);
    if (cookie.trim() !== "") fields.push(["Cookie", cookie.trim()]);
  }
  const seen = new Set<string>();
  // The client of HTTP/3 sends one field of a name.
  return fields.filter(([name]) => !seen.has(name.toLowerCase()) && seen.add(name.toLowerCase()));
}

const reached = async (path: string, ...lines: string[]): Promise<number> => {
  const before = pair.map(({ requests }) => requests.length);
  expect((await gateway.once(request(`GET ${path}`, lines))).status).toBe(200);
  return pair.findIndex(({ requests }, i) => requests.length > before[i]!);
};

test("a hash by a header or a cookie goes by what is sent", async () => {
  for (const value of ["a", "b", "c", "d"]) {
    const own = await reached("/h", `X-Shard: ${value}`);
    expect(await reached("/h", `X-Shard: ${value}`, "X_Shard: other")).toBe(own);
    expect(await reached("/h", `X_Shard: other`, `X-Shard: ${value}`)).toBe(own);
    const cookie = await reached("/k", `Cookie: shard=${value}`);
    for (const line of [`shard =${value}`, `x=1; shard\t= ${value} ; y`, `shard= ${value}`])
      expect([line, await reached("/k", `Cookie: ${line}`)]).toEqual([line, cookie]);
  }
  expect(pair.every(({ requests }) => requests.every(({ fields }) => fields.get("x_shard") === null))).toBe(true);
});

test("a limit by a header counts by what is sent", async () => {
  const limited = async (...lines: string[]) => (await gateway.once(request("GET /l", lines))).status;
  expect([await limited("X-Api-Key: a"), await limited("X-Api-Key: a"), await limited("X-Api-Key: b")]).toEqual([
    200, 429, 200,
  ]);
  // Without the field the client's address counts.
  expect([await limited("X_Api_Key: c"), await limited("X_Api_Key: d")]).toEqual([200, 429]);
  expect(await limited("Connection: X-Api-Key", "X-Api-Key: e")).toBe(429);
  expect(
    json<Echo>(await gateway.once(request("GET /l", ["X-Api-Key: f", "X_Api_Key: g"]))).headers.x_api_key,
  ).toBeUndefined();
});

const textOf = async (path: string, ...lines: string[]): Promise<string> =>
  (await gateway.once(request(`GET ${path}`, lines))).text;

test("a target of a map, and values of the request in a rewrite, are in the key", async () => {
  for (const [path, one, two] of [
    ["/map/a", "one /a ", "two /a "],
    ["/path/a", "one /x/one/a ", "one /x/two/a "],
    ["/regex/a", "one /x/one/a ", "one /x/two/a "],
    ["/files/a", "one", "two"],
  ] as const)
    for (const round of [1, 2, 3]) {
      const lines = (name: string) => [`Cookie: tenant=${name}`, `X-Other: ${name}`];
      const seen = [await textOf(path, ...lines("one")), await textOf(path, ...lines("two"))];
      expect([path, round, ...seen]).toEqual([path, round, one, two]);
    }
  // A fetch in the background goes to the same place.
  const stale = async () => {
    const { fields, text } = await gateway.once(request("GET /map/a", ["Cookie: tenant=two"]));
    expect(text).toBe("two /a ");
    return fields.get("cache-status")!.includes("stale");
  };
  await eventually(async () => expect(await stale()).toBe(true));
  const asked = places[1]!.requests.length;
  await eventually(async () => expect((await stale()) || places[1]!.requests.length === asked).toBe(false));
  expect(await textOf("/map/r", "Cookie: tenant=two", "Range: bytes=0-2")).toBe("two");
});

test("copies of a request have its maps", async () => {
  expect(await textOf("/hedge/slow", "Cookie: tenant=red")).toBe("two /slow red");
  await textOf("/mirror/a", "Cookie: tenant=red");
  await eventually(() => expect(places[1]!.requests.at(-1)!.target).toBe("/a"));
  expect(places[1]!.requests.at(-1)!.fields.get("x-tenant")).toBe("red");
});

describe("hooks", () => {
  const ask = (path: string, ...lines: string[]) => gateway.once(request(`GET ${path}`, lines));

  test("see fetches in the background, and those for a part, as they see requests", async () => {
    expect((await ask("/hook/deny", "Range: bytes=0-3")).status).toBe(403);
    const part = await ask("/hook/part", "Range: bytes=0-3");
    expect([part.status, part.text, part.fields.has("x-inner")]).toEqual([206, "publ", false]);
    const seen = async () => {
      const { text, fields } = await ask("/hook/part");
      expect([text, fields.get("x-hooked"), fields.has("x-inner")]).toEqual(["public", "yes", false]);
      return fields.get("cache-status")!;
    };
    await eventually(async () => expect(await seen()).toContain("stale"));
    await eventually(async () => expect(await seen()).not.toContain("stale"));
  });

  test("that send another request, or take credentials off, put nothing into the place of others", async () => {
    const status = async (path: string, ...lines: string[]) => (await ask(path, ...lines)).fields.get("cache-status");
    for (const refresh of [[], ["Cache-Control: no-cache"]]) {
      expect(await status("/hook/a", "X-To: b", ...refresh)).toEndWith("; detail=request-changed");
      expect(await status("/hook/c", "Authorization: Basic YTpi", ...refresh)).toEndWith("; detail=identity");
    }
    for (const path of ["/hook/a", "/hook/b"]) expect(await status(path)).toBe("edge; fwd=uri-miss; stored");
    // A POST that a hook sends elsewhere takes out the resource that its client has named.
    await gateway.once(request("POST /hook/a", ["X-To: b"], "x"));
    expect(await status("/hook/a")).toBe("edge; fwd=uri-miss; stored");
    expect(await status("/hook/b")).toContain("edge; hit");
  });
});
