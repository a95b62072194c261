// 500 tenants with 10,000 routes, 200,000 redirects and 50 listeners: what a platform of many teams has. docs/scale.md
import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { longTest } from "../harness/long-lane.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";
import { stopAll } from "../harness/teardown.ts";

const TENANTS = 500;
const ROUTES = 20;
const REDIRECTS = 200_000;
const LISTENERS = 50;

/** The listener of a tenant. */
const listener = (tenant: number) => `l${tenant % LISTENERS}`;

function routesOf(origin: EchoOrigin, generation: number): string {
  const lines = ["routes:", "  - { type: redirect, list: ./redirects.csv } # all of them"];
  for (let tenant = 0; tenant < TENANTS; tenant++)
    for (let route = 0; route < ROUTES; route++)
      lines.push(
        "  - type: upstream",
        `    host: t${tenant}.example.com`,
        `    prefix: /s${route}`,
        `    target: ${origin.url}/g${generation}`,
        `    listeners: [public, ${listener(tenant)}]`,
      );
  lines.push("  - type: upstream", "    prefix: /steady", `    target: ${origin.url}`, "");
  return lines.join("\n");
}

async function start(origin: EchoOrigin, ports: readonly number[]): Promise<Gateway> {
  const port = freePort();
  const own = ports.map((port, i) => ({ name: `l${i}`, address: `127.0.0.1:${port}` }));
  const listeners = [{ name: "public", address: `127.0.0.1:${port}` }, ...own];
  const redirects = Array.from({ length: REDIRECTS }, (_, i) => `/old/page-${i},/new/page-${i},301\n`).join("");
  return startGateway({
    port,
    config: { server: { workers: 2, access_log: { enabled: false }, host: null, port: null, listeners } },
    files: { "redirects.csv": redirects, "routes.yaml": routesOf(origin, 1) },
  });
}

/** Tenants have their own listener and no other, with the targets of this generation; the redirects are there. */
async function look(gateway: Gateway, ports: readonly number[], generation: number): Promise<void> {
  const targetOf = async (tenant: number, port: number) => {
    const reply = await exchangeOnce(port, request("GET /s7/x", [`Host: t${tenant}.example.com`]));
    return reply.status === 200 ? json<Echo>(reply).target : reply.status;
  };
  for (const tenant of [0, 49, 250, TENANTS - 1]) {
    expect(await targetOf(tenant, ports[tenant % LISTENERS]!)).toBe(`/g${generation}/x`);
    expect(await targetOf(tenant, ports[(tenant + 1) % LISTENERS]!)).toBe(404);
  }
  for (const page of [0, 777, REDIRECTS - 1]) {
    const reply = await gateway.once(request(`GET /old/page-${page}`));
    expect([reply.status, reply.fields.get("location")]).toEqual([301, `/new/page-${page}`]);
  }
}

longTest(
  "a reload of all of it loses no request, and every listener serves its tenants before and after",
  async () => {
    const origin = EchoOrigin.start();
    const ports = Array.from({ length: LISTENERS }, () => freePort());
    const gateway = await start(origin, ports);
    afterAll(() => stopAll(gateway, origin));
    await look(gateway, ports, 1);
    const load = startSteadyClients(gateway.port, "/steady/canary");
    for (const generation of [2, 3]) {
      writeFileSync(join(gateway.folder, "routes.yaml"), routesOf(origin, generation));
      gateway.signal("SIGHUP");
      const isDone = ({ event, ok }: LogLine) => event === "config_reload" && ok === true;
      await eventually(() => expect(gateway.logs.json.filter(isDone).length).toBe(generation - 1));
      await look(gateway, ports, generation);
    }
    await load.stop();
    expect([load.failures, load.good > 20]).toEqual([[], true]);
  },
  300_000,
);
