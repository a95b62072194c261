import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { GrpcShop, SHOP_FILE } from "../harness/grpc-shop.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { MeshAuthority } from "../harness/mesh-authority.ts";
import { json, request } from "../harness/raw-client.ts";
import { OWN_FILES } from "../harness/sidecar.ts";
import { stopAll } from "../harness/teardown.ts";

// What the internal API says of the targets of a sidecar and of transcoded routes.
const mesh = await MeshAuthority.make();
const own = await mesh.issue({ name: "own" });
const [app, plain, shop] = [EchoOrigin.start(), await H2EchoOrigin.start(), await GrpcShop.start()];
const secure = await H2EchoOrigin.start({ ...own, clientCa: mesh.pem });
const dead = `127.0.0.1:${freePort()}`;
const transcoded = (path: string, upstream_url: string) => ({
  http_method: "GET",
  http_path: path,
  grpc_method: "/shop.Shop/GetItem",
  upstream_url,
});
const gateway = await startGateway({
  config: {
    sidecar: {
      enabled: true,
      mode: "dual",
      ingress_host: "127.0.0.1",
      ingress_port: freePort(),
      egress_port: freePort(),
      app_port: app.port,
      ...OWN_FILES,
      traffic_splits: [
        {
          prefix: "/checkout",
          backends: [
            { target: plain.url, weight: 9 },
            { target: `http://${dead}`, weight: 1 },
          ],
        },
        { prefix: "/pay", backends: [{ target: secure.url }] },
      ],
    },
    transcoder: {
      enabled: true,
      descriptor_set: SHOP_FILE,
      routes: [transcoded("/items/:id", shop.url), transcoded("/gone/:id", `http://${dead}`)],
    },
  },
  routes: [{ type: "upstream", prefix: "/", target: app.url }],
  files: { "cert.pem": own.cert, "key.pem": own.key, "ca.pem": mesh.pem },
});
afterAll(() => stopAll(gateway, app, plain, secure, shop));

test("/internal/api/routes lists a sidecar's routes and transcoded ones", async () => {
  const { total, routes } = json<{ total: number; routes: Record<string, unknown>[] }>(
    await gateway.once(request("GET /internal/api/routes")),
  );
  const target = (url: string, weight = 1) => ({ url, weight, backup: false, status: "CLOSED" });
  expect(total).toBe(6);
  expect(routes.slice(1)).toMatchObject([
    { type: "transcoded", path: "/items/:id", targets: [target(shop.url)] },
    { type: "transcoded", path: "/gone/:id" },
    { type: "sidecar", listener: "sidecar-ingress", prefix: "/", targets: [target(`http://127.0.0.1:${app.port}`)] },
    {
      type: "sidecar",
      listener: "sidecar-egress",
      prefix: "/checkout",
      load_balancing: { policy: "random" },
      targets: [target(plain.url, 9), target(`http://${dead}`)],
    },
    { type: "sidecar", listener: "sidecar-egress", prefix: "/pay", targets: [target(secure.url)] },
  ]);
});

test("/internal/api/upstreams/health asks them, each in what it speaks, with the sidecar's own certificate", async () => {
  const report = json<{ total: number; healthy: number; upstreams: Record<string, unknown>[] }>(
    await gateway.once(request("GET /internal/api/upstreams/health")),
  );
  const fine = { status: "CLOSED", healthy: true, status_code: 200, error: "" };
  const away = { status: "UNREACHABLE", healthy: false, status_code: 0, error: "connection refused" };
  expect(report.upstreams).toMatchObject([
    { route: "/", target: app.url, ...fine },
    { route: "sidecar-ingress", target: `http://127.0.0.1:${app.port}`, ...fine },
    { route: "sidecar-egress /checkout", target: plain.url, ...fine },
    { route: "sidecar-egress /checkout", target: `http://${dead}`, ...away },
    { route: "sidecar-egress /pay", target: secure.url, ...fine },
    { route: "/items/:id", target: shop.url, status: "CLOSED", healthy: true, error: "" },
    { route: "/gone/:id", target: `http://${dead}`, ...away },
  ]);
  expect([report.total, report.healthy]).toEqual([7, 5]);
});
