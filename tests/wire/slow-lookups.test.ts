// What the gateway itself waits for before it asks an origin: however slow, it takes nothing of the origin's time, and the
// origin's breaker does not count it.
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { type Settings, startGateway } from "../harness/gateway.ts";
import { NameServer } from "../harness/name-server.ts";
import { request } from "../harness/raw-client.ts";
import { issuerKey, KeyServer, keySetText, token } from "../harness/token-issuer.ts";

/** How slow each helper is, and what the origin may take: less. */
const SLOW_MS = 900;
const ORIGIN_TIMES = { connect: "400ms", response_header: "400ms", total: "700ms" };

const key = issuerKey("ES256", "one");
const origin = EchoOrigin.start({ hostname: "127.0.0.1" });
const service = EchoOrigin.start();
service.on("/judge", async (call) => {
  await Bun.sleep(SLOW_MS);
  call.reply("200 OK", [], "");
});
const keys = new KeyServer(async () => {
  await Bun.sleep(SLOW_MS);
  return new Response(keySetText(key), { headers: { "Content-Type": "application/json" } });
});
const names = await NameServer.start();
names.delayMs = SLOW_MS;
names.zones.set("slow.test", { addresses: ["127.0.0.1"], ttl: 60 });
afterAll(async () => {
  names.stop();
  for (const one of [origin, service]) one.stop();
  await keys.stop();
});

interface Helper {
  readonly what: string;
  readonly route: Settings;
  readonly fields?: readonly string[];
  /** The total time limit is the client's as well, and a name is looked up for one attempt. */
  readonly hasTotal?: boolean;
}

const HELPERS: readonly Helper[] = [
  { what: "an authentication service", route: { auth: { forward: { url: `${service.url}/judge` } } } },
  {
    what: "the keys of a token issuer",
    route: { auth: { jwt: { jwks_url: keys.url, audience: "api" } } },
    fields: [`Authorization: Bearer ${token(key)}`],
  },
  { what: "name servers", route: { target: `http://slow.test:${origin.port}` }, hasTotal: false },
];

describe.each(HELPERS)("$what that is slow", ({ route, fields = [], hasTotal = true }) => {
  test("costs no request its response, and no origin its health", async () => {
    const gateway = await startGateway({
      config: { server: { workers: 1 }, proxy: { transport: { nameservers: [names.address] } } },
      routes: [
        {
          type: "upstream",
          prefix: "/",
          target: origin.url,
          circuit_breaker: { failure_threshold: 1, open_duration: "60s" },
          retries: { attempts: 0 },
          timeouts: hasTotal ? ORIGIN_TIMES : { ...ORIGIN_TIMES, total: "5s" },
          ...route,
        },
      ],
    });
    try {
      const replies = await Promise.all([1, 2, 3].map(() => gateway.once(request("GET /x", fields))));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await gateway.metric("gateway_circuit_breaker_trips_total")).toBe(0);
    } finally {
      await gateway.stop();
    }
  });
});
