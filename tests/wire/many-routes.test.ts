import { afterAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const ROUTES = 1500;
const origin = EchoOrigin.start();
const other = EchoOrigin.start();
const routes = Array.from({ length: ROUTES }, (_, i) => upstream(`/s${i}`, origin));
const gateway = await startGateway({ config: { server: { workers: 2 } }, routes });
afterAll(() => stopAll(gateway, origin, other));

async function targetOf(path: string): Promise<string> {
  return json<Echo>(await gateway.once(request(`GET ${path}`))).target;
}

test("each of many routes works, at its first request and at those behind it", async () => {
  for (const i of [0, 1, 777, ROUTES - 1]) {
    for (let n = 0; n < 4; n++) expect(await targetOf(`/s${i}/x${n}`)).toBe(`/x${n}`);
  }
  expect((await gateway.once(request(`GET /s${ROUTES}/x`))).status).toBe(404);
});

test("and after a reload that changes some and takes some away, also those that nobody had asked for", async () => {
  const waiting = Promise.withResolvers<void>();
  origin.on("/slow", async (call) => {
    await waiting.promise;
    call.reply("200 OK", [], "slow");
  });
  const slow = gateway.once(request("GET /s5/slow"));
  await eventually(() => expect(origin.requestsFor("/slow").length).toBe(1));
  const changed = [upstream("/s0", other), ...routes.slice(10)];
  writeFileSync(join(gateway.folder, "routes.yaml"), stringify(changed));
  expect((await gateway.reload()).ok).toBe(true);
  await eventually(async () => expect((await gateway.once(request("GET /s5/x"))).status).toBe(404));
  const before = other.requests.length;
  for (let n = 0; n < 4; n++) expect(await targetOf("/s0/y")).toBe("/y");
  expect(other.requests.length).toBe(before + 4);
  for (const i of [10, 777, 778, ROUTES - 1]) expect(await targetOf(`/s${i}/z`)).toBe("/z");
  waiting.resolve();
  expect((await slow).text).toBe("slow");
});
