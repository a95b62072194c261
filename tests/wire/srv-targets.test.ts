// docs/upstreams.md#srv-records
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { NameServer } from "../harness/name-server.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const names = await NameServer.start();
const origins = [EchoOrigin.start(), EchoOrigin.start(), EchoOrigin.start()];
const [first, second, third] = origins as [EchoOrigin, EchoOrigin, EchoOrigin];
const portOf = ({ url }: EchoOrigin) => Number(new URL(url).port);
const at = (port: number, priority: number, weight: number) => ({ host: "app.svc.test", port, priority, weight });
names.zones.set("app.svc.test", { addresses: ["127.0.0.1"], ttl: 1 });
const serve = (records: readonly ReturnType<typeof at>[]) =>
  names.services.set("_web._tcp.svc.test", { ttl: 1, records });
serve([at(portOf(first), 10, 30), at(portOf(second), 10, 10), at(portOf(third), 20, 0)]);

const routes = [
  { type: "upstream", prefix: "/", target: "srv+http://_web._tcp.svc.test/base" },
  { type: "upstream", prefix: "/none", target: "srv+https://_none._tcp.svc.test" },
];
const proxy = { transport: { nameservers: [names.address], dns_hold: "0s" } };
const gateway = await startGateway({
  config: { server: { workers: 2, debug_header: true, access_log: { enabled: true } }, proxy },
  routes,
});
afterAll(() => {
  names.stop();
  return stopAll(gateway, ...origins);
});

const get = (path = "/x") => gateway.once(request(`GET ${path}`));
const counts = () => origins.map((origin) => origin.requests.length);
async function shares(requests: number): Promise<number[]> {
  const before = counts();
  for (let i = 0; i < requests; i++) expect((await get()).status).toBe(200);
  return counts().map((count, i) => count - before[i]!);
}

describe("the servers of a service", () => {
  test("get requests by priority and weight, with the path of the target", async () => {
    const [one, two, three] = await shares(40);
    expect([one! + two!, three]).toEqual([40, 0]);
    expect(one! > two! && two! > 0).toBe(true);
    expect(first.requests.at(-1)!.target).toBe("/base/x");
  });

  test("change without a reload once their time to live is over, and none is lost", async () => {
    serve([at(portOf(third), 5, 0)]);
    await eventually(async () => expect(await shares(1)).toEqual([0, 0, 1]));
    expect(await shares(10)).toEqual([0, 0, 10]);
    const status = await gateway.once(request("GET /internal/api/status", ["Host: localhost"]));
    expect(json(status)).toMatchObject({ generation: 1 });
  });

  test("serve on while the name servers are silent or broken", async () => {
    const asked = names.servicesAsked.length;
    names.isSilent = true;
    await eventually(() => expect(names.servicesAsked.length).toBeGreaterThan(asked + 1));
    expect(await shares(5)).toEqual([0, 0, 5]);
    names.isSilent = false;
    names.isBroken = true;
    await eventually(() => expect(names.servicesAsked.length).toBeGreaterThan(asked + 4));
    expect(await shares(5)).toEqual([0, 0, 5]);
    names.isBroken = false;
  });

  test("lead to the backup when the first are gone", async () => {
    serve([at(freePort(), 1, 1), at(portOf(second), 2, 1)]);
    await eventually(async () => expect(await shares(1)).toEqual([0, 1, 0]));
  });

  test("that cannot be found are 502 with their fault_detail", async () => {
    expect((await get("/none/x")).status).toBe(502);
    await gateway.log("its line", (line) => line.route === "/none" && line.fault_detail === "dns_not_found");
    expect(gateway.logs.json.some(({ upstream }) => String(upstream) === "_none._tcp.svc.test")).toBe(true);
  });
});

test("edge check refuses an address that no SRV record has, and --online asks for the service", async () => {
  const faulty = await runEdge(["check"], {
    routes: ["srv+http://_web._tcp.a.test:80", "srv+ftp://_web._tcp.a.test", "srv+http://10.0.0.1"].map(
      (target, i) => ({
        type: "upstream",
        prefix: `/p${i}`,
        target,
      }),
    ),
  });
  expect(faulty.code).toBe(1);
  expect(faulty.stderr).toContain("3 faults");
  serve([at(portOf(first), 10, 30)]);
  const online = await runEdge(["check", "--online"], { config: { proxy }, routes });
  expect(online.stdout).toContain(`ok     name _web._tcp.svc.test: app.svc.test:${portOf(first)}`);
  expect(online.stderr).toContain("failed name _none._tcp.svc.test: ENOTFOUND");
}, 30_000);
