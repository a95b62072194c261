// Random clients and an origin that answers each for itself: no client gets what was made for another, unless the answer
// says that it may. docs/security.md#cache-and-identity
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { makeCertificate, TestAuthority } from "../harness/certificate.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { type RawClient, request } from "../harness/raw-client.ts";
import { type OriginCall, type OriginRequest, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

/** Properties of one run each; a long run by hand: CACHE_RUNS=5000. */
const RUNS = Number(process.env.CACHE_RUNS ?? 60);
const PATIENCE_MS = 60_000 + RUNS * 500;

/** Whom a request comes from, as the origin can see it; "" for what it does not tell. */
interface Identity {
  readonly tls: boolean;
  readonly certificate: string;
  readonly authorization: string;
  readonly cookie: string;
}

/** What an origin may say, and what that permits. */
interface Saying {
  readonly lines: readonly string[];
  readonly isPublic?: boolean;
  readonly isForShared?: boolean;
}

const SAYINGS: readonly Saying[] = [
  { lines: [] },
  { lines: [] },
  { lines: ["Cache-Control: max-age=60"] },
  { lines: ["Cache-Control: public, max-age=60"], isPublic: true },
  { lines: ["Cache-Control: max-age=60, Public"], isPublic: true },
  { lines: ["Cache-Control: s-maxage=60"], isForShared: true },
  { lines: ["Cache-Control: max-age=60, S-MaxAge=60"], isForShared: true },
  { lines: ["Cache-Control: private"] },
  { lines: ["Cache-Control: public, max-age=60, private"], isPublic: true },
  { lines: ['Cache-Control: max-age=60, x="public"'] },
  { lines: ['Cache-Control: max-age=60, x="a, public, s-maxage=60'] },
  { lines: ["Cache-Control: max-age=60, stale-while-revalidate=600, stale-if-error=600", "Age: 60"] },
  { lines: ["Cache-Control: max-age=60, stale-while-revalidate=600, stale-if-error=600", "Age: 59"] },
  { lines: ["Cache-Control: s-maxage=60, stale-while-revalidate=600", "Age: 59"], isForShared: true },
  { lines: ["Cache-Control: public, max-age=60, stale-while-revalidate=600", "Age: 59"], isPublic: true },
  { lines: ["Cache-Control: max-age=60", "Age: 59"] },
  { lines: ["Cache-Control: max-age=1"] },
  { lines: ["Cache-Control: public, max-age=1"], isPublic: true },
  { lines: ["Vary: Accept-Encoding"] },
  { lines: ["Vary: Cookie"] },
];

/** One request of one client. */
interface Step {
  readonly client: number;
  readonly path: number;
  readonly authorization: string;
  readonly cookie: string;
  readonly method: string;
  readonly line: string;
}

/** What a client has received, whatever the protocol. */
interface Received {
  readonly status: number;
  readonly text: string;
  readonly madeFor: string;
  readonly cacheControl: string;
  readonly isHit: boolean;
  readonly givesCookie: boolean;
}

/** The clients: the first of all come in clear; the last two speak HTTP/2. */
const CERTIFICATES = ["", "", "alice", "bob", "", "bob"] as const;
const IN_CLEAR: readonly number[] = [0, 4];
const OVER_HTTP1 = 4;

const step: fc.Arbitrary<Step> = fc.record({
  client: fc.nat(CERTIFICATES.length - 1),
  path: fc.nat(1),
  authorization: fc.constantFrom("", "", "", "Basic A", "Basic B"),
  cookie: fc.constantFrom("", "", "user=a", "user=b"),
  method: fc.constantFrom("GET", "GET", "GET", "HEAD"),
  line: fc.constantFrom(
    "",
    "",
    "",
    "Cache-Control: no-cache",
    "Pragma: no-cache",
    "Cache-Control: only-if-cached",
    "Range: bytes=0-",
    'If-None-Match: "x"',
    "If-Modified-Since: Thu, 01 Jan 1970 00:00:00 GMT",
  ),
});

describe.each(["share", "bypass"])("cookies: %s", (cookies) => {
  const port = freePort();
  const origin = ScriptedOrigin.start();
  const random = new SeededRandom(7);
  let gateway: Gateway;
  let clients: RawClient[] = [];
  let streams: H2Client[] = [];
  let runs = 0;

  beforeAll(async () => {
    const server = await makeCertificate();
    const authority = await TestAuthority.make("clients");
    const [alice, bob] = [await authority.issue({ subject: "alice" }), await authority.issue({ subject: "bob" })];
    gateway = await startGateway({
      config: {
        server: {
          workers: 2,
          cache: { enabled: true, cookies },
          tls: { port, cert_file: "a.pem", key_file: "a.key", client_auth: "request", client_ca_file: "ca.pem" },
        },
      },
      routes: [upstream("/", origin)],
      files: { "a.pem": server.cert, "a.key": server.key, "ca.pem": authority.cert },
    });
    origin.otherwise((call) => answer(call, random));
    clients = [
      await gateway.connect(),
      await TlsClient.open(port),
      await TlsClient.open(port, alice),
      await TlsClient.open(port, bob),
    ];
    streams = [await H2Client.connect(gateway.port), await H2Client.connectTls(port, bob)];
  });
  afterAll(async () => {
    for (const client of [...clients, ...streams]) client.close();
    await stopAll(gateway, origin);
  });

  async function ask(one: Step, run: number): Promise<Received> {
    const path = `/${run}-${one.path}`;
    const lines = [
      one.line,
      one.authorization && `Authorization: ${one.authorization}`,
      one.cookie && `Cookie: ${one.cookie}`,
    ].filter((line) => line !== "");
    if (one.client < OVER_HTTP1) {
      const reply = await clients[one.client]!.exchange(request(`${one.method} ${path}`, lines), one.method);
      return received(reply.status, reply.text, (name) => reply.fields.all(name).join(", "));
    }
    const fields = lines.map((line) => [line.split(": ")[0]!.toLowerCase(), line.split(": ")[1]!] as const);
    const own = head(one.method, path).map(
      ([name, value]) => [name, name === ":authority" ? "gw.test" : value] as const,
    );
    const reply = await streams[one.client - OVER_HTTP1]!.request([...own, ...fields]);
    return received(reply.status, reply.text, (name) => reply.fields.get(name) ?? "");
  }

  /** The steps of one client: one after the other on a connection of HTTP/1.1, all at once on one of HTTP/2. */
  async function walk(steps: readonly Step[], run: number): Promise<string[]> {
    const faults: string[] = [];
    const go = async (one: Step): Promise<void> => {
      const fault = faultOf(identityOf(one), await ask(one, run), cookies === "bypass");
      if (fault !== "") faults.push(`${JSON.stringify(one)}: ${fault}`);
    };
    const [first] = steps;
    if (first !== undefined && first.client >= OVER_HTTP1) await Promise.all(steps.map(go));
    else for (const one of steps) await go(one);
    return faults;
  }

  test(
    "no client gets what was made for another",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 60 }), async (steps) => {
          // Few paths, some time apart, so that answers grow old.
          const run = runs++ % 5;
          await Bun.sleep(40);
          const walks = CERTIFICATES.map((_, n) => steps.filter(({ client }) => client === n));
          const faults = await Promise.all(walks.map((own) => walk(own, run)));
          expect(faults.flat()).toEqual([]);
        }),
        { numRuns: RUNS },
      );
      expect(origin.violations).toEqual([]);
    },
    PATIENCE_MS,
  );

  test("hits and stale answers were among what was tried", async () => {
    const text = (await gateway.once(request("GET /metrics"))).text;
    const seen = [...text.matchAll(/gateway_cache_requests_total\{result="(\w+)"\} [1-9]/g)].map(
      ([, result]) => result,
    );
    expect(seen).toEqual(expect.arrayContaining(["hit", "miss", "refresh", "expired", "stale"]));
  });
});

function identityOf({ client, authorization, cookie }: Step): Identity {
  return { tls: !IN_CLEAR.includes(client), certificate: CERTIFICATES[client]!, authorization, cookie };
}

/** Answers for whoever asks, with what the origin happens to say now. */
async function answer(call: OriginCall, random: SeededRandom): Promise<void> {
  const madeFor = JSON.stringify(seenBy(call.request));
  const number = random.integer(0, SAYINGS.length - 1);
  const etag = `"${Bun.hash(madeFor).toString(16)}"`;
  const lines = [...SAYINGS[number]!.lines, `ETag: ${etag}`];
  if (random.chance(0.2)) lines.push(`Set-Cookie: session=${madeFor.length}`);
  const [isSlow, fails] = [random.chance(0.3), random.chance(0.1)];
  if (isSlow) await Bun.sleep(random.integer(1, 8));
  if (fails) call.reply("503 Service Unavailable", ["X-Made-For: nobody"], "away");
  else if (call.request.fields.get("if-none-match") === etag) call.reply("304 Not Modified", lines);
  else {
    lines.push(`X-Made-For: ${madeFor}`);
    if (call.request.method === "HEAD") {
      call.send(`HTTP/1.1 200 OK\r\n${[...lines, `Content-Length: ${madeFor.length}`].join("\r\n")}\r\n\r\n`);
    } else call.reply("200 OK", lines, madeFor);
  }
}

function seenBy({ fields }: OriginRequest): Identity {
  return {
    tls: fields.get("x-forwarded-proto") === "https",
    certificate: /CN=(\w+)/.exec(fields.get("x-forwarded-client-cert") ?? "")?.[1] ?? "",
    authorization: fields.get("authorization") ?? "",
    cookie: fields.get("cookie") ?? "",
  };
}

function received(status: number, text: string, field: (name: string) => string): Received {
  return {
    status,
    text,
    madeFor: field("x-made-for"),
    cacheControl: field("cache-control"),
    isHit: field("x-cache") === "HIT",
    givesCookie: field("set-cookie") !== "",
  };
}

/** The values of Cache-Control: a 304 without that field leaves those of the stored answer as they were. */
function cacheControlOf({ lines }: Saying): string {
  const own = lines.filter((line) => line.startsWith("Cache-Control: "));
  return own.map((line) => line.slice("Cache-Control: ".length)).join(", ");
}

/** What is wrong with what a client has received; "" for nothing. */
function faultOf(
  own: Identity,
  { status, text, madeFor, cacheControl, isHit, givesCookie }: Received,
  bypasses: boolean,
): string {
  if (madeFor === "" || madeFor === "nobody") {
    return [304, 503, 504].includes(status) ? "" : `an answer that the origin never gave: ${status}`;
  }
  if (text !== "" && text !== madeFor) return `${text} below the head of ${madeFor}`;
  if (isHit && givesCookie) return "a hit with Set-Cookie";
  const other = JSON.parse(madeFor) as Identity;
  if (own.tls !== other.tls) return `made for ${madeFor}, over another kind of connection`;
  const isOwn = own.certificate === other.certificate && own.authorization === other.authorization;
  if (isOwn && (!bypasses || own.cookie === other.cookie)) return "";
  const said = SAYINGS.find((saying) => cacheControlOf(saying) === cacheControl);
  if (said === undefined) return `an answer that the origin never gave: ${cacheControl}`;
  const { isPublic, isForShared } = said;
  if (isPublic === true) return "";
  const areAnonymous = isOwn && own.certificate === "" && own.authorization === "";
  return areAnonymous && isForShared === true ? "" : `made for ${madeFor}, with ${cacheControl}`;
}
