import { afterAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const ATTACKS: readonly string[] = [
  "/node/users/1%20OR%201=1--",
  "/node/users/1+OR+1=1--",
  "/node/users/1%2527%2520or%25201%253d1--",
  "/node/users/1/**/or/**/1=1",
  "/node/items;q=1%20or%201=1/x",
  "/node/x/%3Cscript%3Ealert(1)%3C/script%3E",
  "/node/files/;cat%20/etc/passwd",
  "/node/ping/127.0.0.1&whoami",
  "/node/files/%2fetc%2fpasswd",
  "/node/${jndi:ldap://x}",
  "/node/{{7*7}}",
];
const ORDINARY: readonly string[] = [
  "/node/o'reilly/my%20file%20(1).pdf",
  "/node/a;jsessionid=0A1B2C3D",
  "/node/select/from/menu",
  "/node/proxy/https://example.com/a",
  "/node/odata/Products(1)/$count",
];

const { cert, key } = await makeCertificate([{ type: "dns", value: "localhost" }]);
const port = freePort();
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: {
      waf: { enabled: true, exclusions: [{ rule: "SQLI-002", path: "/node/search" }] },
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [upstream("/node", origin)],
  files: { "a.pem": cert, "a.key": key },
});
afterAll(() => stopAll(gateway, origin));

/** A refused request may cost its connection, so each has one of its own. */
const ASKING: Readonly<Record<string, (target: string) => Promise<number>>> = {
  "HTTP/1.1": async (target) => (await gateway.once(request(`GET ${target}`))).status,
  "HTTP/2": async (target) => {
    const client = await H2Client.connect(gateway.port);
    const { status } = await client.request(head("GET", target));
    client.close();
    return status;
  },
  "HTTP/3": async (target) => {
    const client = await H3Client.connect(port);
    const { status } = await client.ask("GET", target);
    client.close();
    return status;
  },
};

test.each(Object.entries(ASKING))("segments of paths are judged over %s", async (_protocol, ask) => {
  const statuses: Record<string, number> = {};
  for (const target of [...ATTACKS, ...ORDINARY]) statuses[target] = await ask(target);
  const wanted = [...ATTACKS.map((target) => [target, 403]), ...ORDINARY.map((target) => [target, 200])];
  expect(statuses).toEqual(Object.fromEntries(wanted));
});

test("the line says so, and an exclusion by path counts", async () => {
  await gateway.once(request("GET /node/logged/1%20OR%201=1--?token=1"));
  const line = await gateway.log("the block", ({ path }) => path === "/node/logged/1%20OR%201=1--");
  expect(line).toMatchObject({ event: "waf_block", category: "sqli", rule_id: "SQLI-002", location: "url" });
  expect((await gateway.once(request("GET /node/search/1%20OR%201=1--"))).status).toBe(200);
});

test("edge waf test says the same", async () => {
  for (const [target, code] of [
    [ATTACKS[0]!, 1],
    [ORDINARY[0]!, 0],
  ] as const) {
    expect((await runEdge(["waf", "test", "--config", `${gateway.folder}/config.yaml`, `GET ${target}`])).code).toBe(
      code,
    );
  }
});
