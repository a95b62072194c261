// docs/sidecar.md#ids-of-servers: outbound connections go by what a server's certificate says of it, and not by its name.
import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { exchangeOnce, request } from "../harness/raw-client.ts";
import { OWN_FILES, type Sidecar, startSidecar } from "../harness/sidecar.ts";

const CHECKOUT = "spiffe://mesh/ns/shop/sa/checkout";
const mesh = await MeshAuthority.make();
const rogue = await MeshAuthority.make("rogue");
const own = await mesh.issue({ name: "own", id: "spiffe://mesh/ns/shop/sa/web" });
const files = { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem };
const elsewhere = ["elsewhere.mesh"];

const right = EchoOrigin.start({ tls: await mesh.issue({ name: "right", id: CHECKOUT, dnsNames: elsewhere }) });
const named = EchoOrigin.start({ tls: await mesh.issue({ name: "named", id: CHECKOUT }) });
const other = EchoOrigin.start({ tls: await mesh.issue({ name: "other", id: "spiffe://mesh/ns/bank/sa/till" }) });
const anonymous = EchoOrigin.start({ tls: await mesh.issue({ name: "anonymous" }) });
const doubled = EchoOrigin.start({
  tls: await mesh.issue({ name: "doubled", id: CHECKOUT, more: "spiffe://mesh/ns/shop/sa/other" }),
});
const forged = EchoOrigin.start({ tls: await rogue.issue({ name: "forged", id: CHECKOUT }) });
const misnamed = EchoOrigin.start({ tls: await rogue.issue({ name: "x", id: CHECKOUT, dnsNames: elsewhere }) });
const expired = EchoOrigin.start({
  tls: await mesh.issue({ name: "old", id: CHECKOUT, days: -1, dnsNames: elsewhere }),
});
const clear = EchoOrigin.start();
const second = await H2EchoOrigin.start(await mesh.issue({ name: "h2", id: CHECKOUT, dnsNames: elsewhere }));
const origins = { right, named, other, anonymous, doubled, forged, misnamed, expired };
const split = (name: string, target: string, more: object = {}) => ({
  prefix: `/${name}`,
  backends: [{ target }],
  ...more,
});
const traffic_splits = [
  ...Object.entries(origins).map(([name, { port }]) => split(name, `https://localhost:${port}`)),
  split("second", `h2://localhost:${second.port}`),
  split("own-ids", `https://localhost:${other.port}`, { server_ids: ["spiffe://mesh/ns/bank/*"] }),
  split("not-own-ids", `https://localhost:${right.port}`, { server_ids: ["spiffe://mesh/ns/bank/*"] }),
];
const checked = await startSidecar(
  { mode: "egress", ...OWN_FILES, traffic_splits, server_ids: ["spiffe://mesh/ns/shop/*"] },
  files,
);
const byName = await startSidecar({ mode: "egress", ...OWN_FILES, traffic_splits }, files);
afterAll(async () => {
  await checked.gateway.stop();
  await byName.gateway.stop();
  for (const origin of Object.values(origins)) origin.stop();
  second.stop();
  clear.stop();
});

const statusOf = async ({ egress }: Sidecar, path: string) =>
  (await exchangeOnce(egress, request(`GET ${path}/x`))).status;

describe("with server_ids", () => {
  test.each(["/right", "/named", "/second", "/own-ids"])("%s is spoken to", async (path) => {
    for (let i = 0; i < 3; i++) expect(await statusOf(checked, path)).toBe(200);
  });

  test.each([
    ["another id", "/other"],
    ["no id", "/anonymous"],
    ["two ids", "/doubled"],
    ["another authority", "/forged"],
    ["another authority and another name", "/misnamed"],
    ["an end in the past", "/expired"],
    ["an id that another split allows", "/not-own-ids"],
  ])("a server with %s gets nothing", async (_what, path) => {
    expect(await statusOf(checked, path)).toBe(502);
  });

  test("a server that the request names has one of them too", async () => {
    const ask = (origin: EchoOrigin) =>
      exchangeOnce(
        checked.egress,
        `GET https://localhost:${origin.port}/x HTTP/1.1\r\nHost: localhost:${origin.port}\r\n\r\n`,
      );
    expect((await ask(right)).status).toBe(200);
    expect((await ask(other)).status).toBe(502);
  });

  test("requests are counted by the id of the server that responded", async () => {
    const fresh = await startSidecar(
      {
        mode: "egress",
        ...OWN_FILES,
        traffic_splits: [...traffic_splits, split("plain", `http://127.0.0.1:${clear.port}`)],
        server_ids: [],
      },
      files,
    );
    for (const path of ["/right", "/right", "/second", "/named", "/plain"]) await statusOf(fresh, path);
    const rows = parseMetrics((await fresh.gateway.once(request("GET /metrics"))).text);
    const counted = (server: string, code: string) =>
      sumOf(rows, "gateway_sidecar_server_requests_total", { server, code });
    expect([counted(CHECKOUT, "200"), counted("none", "200"), counted("none", "502")]).toEqual([1, 1, 3]);
    await fresh.gateway.stop();
    for (const path of ["/right", "/second", "/own-ids"]) await statusOf(checked, path);
    const after = parseMetrics((await checked.gateway.once(request("GET /metrics"))).text);
    const ofChecked = (server: string) =>
      sumOf(after, "gateway_sidecar_server_requests_total", { server, code: "200" });
    expect(ofChecked(CHECKOUT)).toBeGreaterThanOrEqual(2);
    expect(ofChecked("spiffe://mesh/ns/bank/sa/till")).toBeGreaterThanOrEqual(1);
  });

  test("the log says why", async () => {
    await checked.gateway.logs.until("the refusal", (line) => JSON.stringify(line).includes("server_id_denied"));
  });
});

test("without server_ids a server goes by its name", async () => {
  const statuses = await Promise.all(
    ["/right", "/named", "/other", "/anonymous"].map((path) => statusOf(byName, path)),
  );
  expect(statuses).toEqual([502, 200, 200, 200]);
  expect(await statusOf(byName, "/own-ids")).toBe(200);
});
