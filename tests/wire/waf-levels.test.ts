// docs/waf.md#levels, docs/waf.md#profiles
import { afterAll, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const routes = [
  upstream("/plain", origin),
  upstream("/second", origin, { waf: { level: 2 } }),
  upstream("/php", origin, { waf: { profile: ["php"] } }),
  upstream("/ldap", origin, { waf: { profile: ["ldap", "mongo"] } }),
];
const gateway = await startGateway({ config: { server: { waf: { enabled: true } } }, routes });
const strict = await startGateway({
  config: {
    server: { waf: { enabled: true, protocol: { methods: ["GET", "POST"], restricted_files: ["phpinfo.php"] } } },
  },
  routes: [upstream("/plain", origin)],
});
afterAll(async () => {
  await strict.stop();
  await stopAll(gateway, origin);
});

const FORM = "Content-Type: application/x-www-form-urlencoded";
const statusOf = async (target: string): Promise<number> => (await gateway.once(request(`GET ${target}`))).status;

test.each([
  ["/plain", [200, 200, 200, 200, 200]],
  ["/second", [403, 403, 200, 403, 403]],
  ["/php", [200, 403, 200, 403, 200]],
  ["/ldap", [200, 200, 200, 200, 403]],
])("%s: level and profile are those of the route", async (path, expected) => {
  const queries = ["q=%3Ch2%20id=a%3Ex%3C/h2%3E", "q=..%2Fx", "q=red%20shoes"];
  const heads = await Promise.all(queries.map((query) => statusOf(`${path}/echo?${query}`)));
  const form = await gateway.once(request(`POST ${path}/echo`, [FORM], "q=%2Fopt%2Fx%2Flogs%2Ferror.log"));
  const filter = await statusOf(`${path}/echo?q=(%26(cn=a)(mail=b))`);
  expect([...heads, form.status, filter]).toEqual(expected);
});

test("files that no site means to serve, and texts in base64", async () => {
  const script = Buffer.from("<script>alert(1)</script>").toString("base64url");
  const text = Buffer.from("a text of several words").toString("base64url");
  expect(await statusOf("/plain/.env")).toBe(403);
  expect(await statusOf("/plain/.git/config")).toBe(403);
  expect(await statusOf("/plain/docs/.env")).toBe(200);
  expect(await statusOf("/plain/.env.example")).toBe(200);
  expect(await statusOf(`/plain/echo?q=${script}`)).toBe(403);
  expect(await statusOf(`/plain/echo?q=${text}`)).toBe(200);
  expect(await statusOf(`/plain/${script}/x`)).toBe(403);
  const body = (value: string): Promise<number> =>
    gateway
      .once(request("POST /plain/echo", ["Content-Type: application/json"], `{"q":"${value}"}`))
      .then((r) => r.status);
  expect(await body(script)).toBe(403);
  expect(await body(text)).toBe(200);
  const escaped = script.replace(/[\s\S]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  expect(await body(escaped)).toBe(403);
});

test("the protocol profile refuses what its lists do not have, and costs nothing to others", async () => {
  const ask = async (line: string, fields: readonly string[] = [], body?: string): Promise<number> =>
    (await strict.once(request(line, ["User-Agent: test/1.0", ...fields], body))).status;
  expect(await ask("GET /plain/echo")).toBe(200);
  expect(await ask("PUT /plain/echo", [FORM], "a=1")).toBe(403);
  expect(await ask("POST /plain/echo", [FORM], "a=1")).toBe(200);
  expect(await ask("POST /plain/echo", ["Content-Type: application/x-java"], "a=1")).toBe(403);
  expect(await ask("POST /plain/echo", ["Content-Type: application/vnd.api+json; charset=utf-8"], "{}")).toBe(200);
  expect(await ask("GET /plain/x.LOG")).toBe(403);
  expect(await ask("GET /plain/phpinfo.php")).toBe(403);
  expect(await ask("GET /plain/echo", ["Proxy: http://a.test"])).toBe(403);
  expect(await statusOf("/plain/x.log")).toBe(200);
});
