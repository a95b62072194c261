import { expect, test } from "bun:test";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import type { Gateway } from "../harness/gateway.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { exchangeOnce, json, request } from "../harness/raw-client.ts";
import { OWN_FILES, startSidecar } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient } from "../harness/tls-client.ts";

const mesh = await MeshAuthority.make();
const shop = await mesh.issue({ name: "shop", id: "spiffe://mesh/ns/shop/sa/web" });
const bank = await mesh.issue({ name: "bank", id: "spiffe://mesh/ns/bank/sa/web" });
const sidecar = (settings: object) =>
  startSidecar({ ...settings, ...OWN_FILES }, { "cert.pem": shop.cert, "key.pem": shop.key, "ca.pem": mesh.pem });

test.each(["https", "h2"])(
  "a pair of sidecars carries requests from application to application, through a rotation of certificates: %s",
  async (scheme) => {
    const origin = EchoOrigin.start();
    const inbound = await sidecar({ mode: "ingress", app_port: origin.port, strict_mtls: true });
    const outbound = await sidecar({
      mode: "egress",
      traffic_splits: [{ prefix: "/", backends: [{ target: `${scheme}://localhost:${inbound.ingress}` }] }],
    });
    const statuses = new Map<number, number>();
    const names = new Set<string>();
    let isOver = false;
    const load = async () => {
      while (!isOver) {
        // A connection of its own each time, so that handshakes happen all the while.
        const reply = await exchangeOnce(outbound.egress, request("POST /echo", ["Connection: close"], "hello"));
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
        if (reply.status === 200) names.add(String(json<Echo>(reply).headers["x-forwarded-client-cert"]));
      }
    };
    const clients = [load(), load(), load()];
    await eventually(() => expect(names.size).toBe(1));
    const next = await mesh.issue({ name: "next", id: "spiffe://mesh/ns/shop/sa/next" });
    for (const { gateway } of [inbound, outbound]) replace(gateway, next);
    for (const { gateway } of [inbound, outbound]) {
      await gateway.log("the reload", (line) => line.event === "certificate_reload" && line.ok === true);
      await eventually(() => expect(reloads(gateway)).toBeGreaterThan(0));
    }
    const before = statuses.get(200) ?? 0;
    await eventually(() => expect(statuses.get(200)).toBeGreaterThan(before + 20));
    isOver = true;
    await Promise.all(clients);
    expect([...statuses.keys()]).toEqual([200]);
    expect([...names].some((one) => one.includes("sa/web"))).toBe(true);
    await inbound.gateway.stop();
    await stopAll(outbound.gateway, origin);
  },
  60_000,
);

test.each(["https", "h2"])(
  "requests behind a rotation go over connections with the new certificate, what is under way ends: %s",
  async (scheme) => {
    const origin = EchoOrigin.start();
    const gate = Promise.withResolvers<void>();
    const headOf = (name: string) => `X-Shown: ${name.replaceAll('"', "")}`;
    origin.on("/held", async (call) => {
      await gate.promise;
      call.reply("200 OK", [headOf(call.request.fields.get("x-forwarded-client-cert") ?? "")], "late");
    });
    const inbound = await sidecar({ mode: "ingress", app_port: origin.port, strict_mtls: true });
    const outbound = await sidecar({
      mode: "egress",
      traffic_splits: [{ prefix: "/", backends: [{ target: `${scheme}://localhost:${inbound.ingress}` }] }],
    });
    const shown = async () =>
      String(json<Echo>(await exchangeOnce(outbound.egress, request("POST /echo", [], "x"))).headers[XFCC]);
    expect(await shown()).toContain("sa/web");
    const held = exchangeOnce(outbound.egress, request("GET /held"));
    await origin.until("the held request", () => origin.requestsFor("/held").length === 1 || undefined);
    replace(outbound.gateway, await mesh.issue({ name: "next", id: "spiffe://mesh/ns/shop/sa/next" }));
    await outbound.gateway.log("the reload", (line) => line.event === "certificate_reload" && line.ok === true);
    await eventually(async () => expect(await shown()).toContain("sa/next"));
    gate.resolve();
    const late = await held;
    expect([late.status, late.text]).toEqual([200, "late"]);
    expect(late.fields.get("x-shown")).toContain("sa/web");
    expect(await shown()).toContain("sa/next");
    await inbound.gateway.stop();
    await stopAll(outbound.gateway, origin);
  },
  60_000,
);

test("a new handshake shows the new certificate, and the old one stays where the new does not fit", async () => {
  const origin = EchoOrigin.start();
  const { gateway, ingress } = await sidecar({ mode: "ingress", app_port: origin.port });
  const kept = await TlsClient.open(ingress, shop);
  writeFileSync(join(gateway.folder, "key.pem"), bank.key);
  await gateway.log("the refusal", (line) => line.event === "certificate_reload" && line.ok === false);
  expect((await TlsClient.once(ingress, request("GET /x"), shop)).status).toBe(200);
  replace(gateway, bank);
  await eventually(() => expect(reloads(gateway)).toBeGreaterThan(0));
  expect((await kept.exchange(request("GET /x"))).status).toBe(200);
  kept.close();
  expect((await TlsClient.once(ingress, request("GET /x"), shop)).status).toBe(200);
  await stopAll(gateway, origin);
});

const XFCC = "x-forwarded-client-cert";

/** Puts a new pair in place of the old one, as a rotation does. */
function replace(gateway: Gateway, { cert, key }: { cert: string; key: string }): void {
  for (const [name, text] of [
    ["cert.pem", cert],
    ["key.pem", key],
  ] as const) {
    writeFileSync(join(gateway.folder, `${name}.new`), text);
    renameSync(join(gateway.folder, `${name}.new`), join(gateway.folder, name));
  }
}

function reloads(gateway: Gateway): number {
  return gateway.logs.json.filter((line) => line.event === "certificate_reload" && line.ok === true).length;
}
