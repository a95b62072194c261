// 500 tenants with 10,000 routes, 200,000 redirects and 50 listeners: what a platform of many teams has. docs/scale.md
import { afterAll, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { startSteadyClients } from "../harness/steady-clients.ts";
import { stopAll } from "../harness/teardown.ts";

const TENANTS = 500;
const ROUTES = 20;
const REDIRECTS = 200_000;
const LISTENERS = 50;

longTest(
  "a reload of all of it loses no request, and every listener serves its tenants before and after",
  async () => {
    const origin = EchoOrigin.start();
    const ports = Array.from({ length: LISTENERS }, () => freePort());
    const listener = (tenant: number) => `l${tenant % LISTENERS}`;
    const routes = (generation: number) => {
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
    };
    const redirects = Array.from({ length: REDIRECTS }, (_, i) => `/old/page-${i},/new/page-${i},301\n`).join("");
    const publicPort = freePort();
    const gateway = await startGateway({
      port: publicPort,
      config: {
        server: {
          workers: 2,
          access_log: { enabled: false },
          host: null,
          port: null,
          listeners: [
            { name: "public", address: `127.0.0.1:${publicPort}` },
            ...ports.map((port, i) => ({ name: `l${i}`, address: `127.0.0.1:${port}` })),
          ],
        },
      },
      files: { "redirects.csv": redirects, "routes.yaml": routes(1) },
    });
    afterAll(() => stopAll(gateway, origin));
    const targetOf = async (tenant: number, route: number, port: number) => {
      const reply = await exchangeOnce(port, request(`GET /s${route}/x`, [`Host: t${tenant}.example.com`]));
      return reply.status === 200 ? json<Echo>(reply).target : reply.status;
    };
    const looks = async (generation: number) => {
      for (const tenant of [0, 49, 250, TENANTS - 1]) {
        expect(await targetOf(tenant, 7, ports[tenant % LISTENERS]!)).toBe(`/g${generation}/x`);
        expect(await targetOf(tenant, 7, ports[(tenant + 1) % LISTENERS]!)).toBe(404);
      }
      for (const page of [0, 777, REDIRECTS - 1]) {
        const reply = await gateway.once(request(`GET /old/page-${page}`));
        expect([reply.status, reply.fields.get("location")]).toEqual([301, `/new/page-${page}`]);
      }
    };
    await looks(1);
    const load = startSteadyClients(publicPort, "/steady/canary");
    for (const generation of [2, 3]) {
      writeFileSync(join(gateway.folder, "routes.yaml"), routes(generation));
      gateway.signal("SIGHUP");
      await eventually(() =>
        expect(gateway.logs.json.filter(({ event, ok }) => event === "config_reload" && ok === true).length).toBe(
          generation - 1,
        ),
      );
      await looks(generation);
    }
    await load.stop();
    expect([load.failures, load.good > 20]).toEqual([[], true]);
  },
  300_000,
);
