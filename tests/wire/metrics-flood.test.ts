import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { expectNothingLeft } from "../harness/memory.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

/** A million by hand: FLOOD=1000000. */
const REQUESTS = Number(process.env.FLOOD ?? 4000);
const BATCH = 200;

const origin = EchoOrigin.start();
// What keeps something by what requests say: buckets, facts about files, verdicts, fields for origins.
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      access_log: { enabled: false },
      waf: { enabled: true, mode: "detection" },
      cors: { allowed_origins: ["https://page.test"] },
      security_headers: { enabled: true },
    },
  },
  routes: [
    upstream("/node", origin),
    upstream("/only-put", origin, { methods: ["PUT"] }),
    upstream("/host", origin, { host: ["named.test"] }),
    {
      type: "static",
      prefix: "/files",
      dir: ".",
      rate_limit: { requests: 1000, window: "1h", key: "header:X-Key" },
    },
  ],
});
afterAll(() => stopAll(gateway, origin));

async function series(): Promise<Set<string>> {
  const samples = await gateway.samples();
  return new Set(samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`));
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const random = new SeededRandom(9);
const method = () =>
  `X${Array.from({ length: 1 + random.integer(0, 8) }, () => LETTERS[random.integer(0, 25)]).join("")}`;
const PREFIXES = ["", "/only-put", "/host", "/files"];
const path = () => `${PREFIXES[random.integer(0, 3)]}/${random.bytes(6).toString("hex")}?${random.integer(0, 1e6)}`;
const host = () => `${random.bytes(4).toString("hex")}.test`;

/** Sends this many requests that no route takes, and reads all answers. */
async function flood(count: number): Promise<void> {
  const client = await gateway.connect();
  for (let sent = 0; sent < count; sent += BATCH) {
    const batch = Array.from(
      { length: BATCH },
      () =>
        `${random.integer(0, 1) === 0 ? "GET" : method()} ${path()} HTTP/1.1\r\nHost: ${host()}\r\n` +
        `User-Agent: ${host()}\r\nOrigin: https://${host()}\r\nX-Key: ${host()}\r\n\r\n`,
    );
    client.send(batch.join(""));
    for (let n = 0; n < BATCH; n++) expect((await client.reply()).status).toBeGreaterThanOrEqual(404);
  }
  client.close();
}

test(`${REQUESTS} random paths, methods and hosts grow no label and no memory`, async () => {
  await series();
  await flood(BATCH * 10);
  const before = await series();
  await expectNothingLeft(gateway, () => flood(REQUESTS));
  const after = await series();
  expect([...after].filter((one) => !before.has(one))).toEqual([]);
  const labels = [...after].filter((one) => one.startsWith("gateway_requests_total"));
  for (const label of labels) expect(label).toMatch(/"(GET|PUT|OTHER)"/);
}, 300_000);
