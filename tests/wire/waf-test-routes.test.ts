import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: {
    server: { waf: { enabled: true } },
    internal_api: { listen: `127.0.0.1:${freePort()}` },
    transcoder: {
      enabled: true,
      routes: [
        {
          http_method: "GET",
          http_path: "/v1/list",
          grpc_method: "/shop.Shop/List",
          upstream_url: "http://127.0.0.1:1",
        },
      ],
    },
  },
  routes: [upstream("/node", origin), upstream("/node/inner", origin)],
});
afterAll(() => stopAll(gateway, origin));

/** Relative paths are judged by the routes that they leave and lead to: docs/security.md#paths-and-hosts */
test.each([
  ["/elsewhere/../v1/list", "an exact path of the transcoder", "passes"],
  ["/elsewhere/../v1/other", "no route", "blocked"],
  ["/elsewhere/../health", "an endpoint of the gateway", "passes"],
  ["/elsewhere/../metrics", "an endpoint that is on another listener", "blocked"],
  ["/node/a/../b", "the same route", "passes"],
  ["/node/inner/../b", "another route", "blocked"],
] as const)("edge waf test judges %s, which leads to %s, as the gateway does: it %s", async (target, _, verdict) => {
  const { status } = await gateway.once(request(`GET ${target}`));
  const { code } = await runEdge(["waf", "test", "--config", `${gateway.folder}/config.yaml`, `GET ${target}`]);
  const isBlocked = verdict === "blocked";
  expect([status === 403, code]).toEqual([isBlocked, isBlocked ? 1 : 0]);
});
