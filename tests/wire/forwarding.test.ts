import { afterAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const other = EchoOrigin.start();
const based = { url: `${origin.url}/base/v1` };
const gateway = await startGateway({
  routes: [
    upstream("/node", origin),
    upstream("/node/special", other),
    upstream("/starred/*", origin),
    upstream("/slashed/", origin),
    upstream("/kept", origin, { strip_prefix: false }),
    upstream("/based", based),
    upstream("/based-kept", based, { strip_prefix: false }),
    { ...upstream("/exact", origin), prefix: undefined, path: "/only/this" },
    upstream("/read-only", origin, { methods: ["GET"] }),
    upstream("/hosted", origin, { host: ["a.test", "*.b.test"] }),
  ],
});
afterAll(() => stopAll(gateway, origin, other));

async function targetOf(path: string): Promise<string> {
  const reply = await gateway.once(request(`GET ${path}`));
  expect(reply.status).toBe(200);
  return json<Echo>(reply).target;
}

describe("the forwarded target", () => {
  test.each([
    ["/node/echo", "/echo"],
    ["/node/a/b/c", "/a/b/c"],
    ["/node/", "/"],
    ["/node", "/"],
    ["/node?x=1", "/?x=1"],
    ["/node/?x=1", "/?x=1"],
    ["/starred/a", "/a"],
    ["/slashed/a", "/a"],
    ["/slashed", "/"],
    ["/kept/a?b", "/kept/a?b"],
    ["/based/a", "/base/v1/a"],
    ["/based", "/base/v1/"],
    ["/based-kept/a", "/base/v1/based-kept/a"],
    ["/only/this?q", "/only/this?q"],
  ])("of %s is %s", async (path, target) => {
    expect(await targetOf(path)).toBe(target);
  });

  test("keeps the path's own encoding", async () => {
    for (const path of ["/a%2Fb", "/a%2fb", "/%e4%b8%AD", "/a%20b", "/%41", "/a;b=c,d/e", "/~a!$&'()*+:@"]) {
      expect(await targetOf(`/node${path}`)).toBe(path);
    }
  });

  test("carries the query byte for byte", async () => {
    const printable = Array.from({ length: 94 }, (_, i) => String.fromCharCode(0x21 + i)).filter(
      (char) => char !== "#",
    );
    for (const query of [
      printable.join(""),
      "",
      "&&=&",
      "a=%zz%",
      "x=../../y&z=%2e%2e/",
      "u=http://other.test//p?q=1",
    ]) {
      expect(await targetOf(`/node/echo?${query}`)).toBe(`/echo?${query}`);
    }
  });

  test("has its dot segments resolved", async () => {
    expect(await targetOf("/node/a/../echo")).toBe("/echo");
    expect(await targetOf("/node/./echo")).toBe("/echo");
  });
});

describe("the route", () => {
  test("matches whole segments only", async () => {
    for (const path of ["/nodeX", "/nod", "/only/this/more", "/only", "/Node/echo"]) {
      expect((await gateway.once(request(`GET ${path}`))).status).toBe(404);
    }
  });

  test("is the one with the longest prefix", async () => {
    const seen = other.requests.length;
    expect(await targetOf("/node/special/a")).toBe("/a");
    expect(other.requests.length).toBe(seen + 1);
    expect(await targetOf("/node/specials")).toBe("/specials");
    expect(other.requests.length).toBe(seen + 1);
  });

  test("refuses other methods than its own with 405 and Allow", async () => {
    const reply = await gateway.once(request("POST /read-only/a", [], "x"));
    expect([reply.status, reply.fields.get("allow")?.split(", ").sort()]).toEqual([405, ["GET", "HEAD"]]);
    expect((await gateway.once(request("HEAD /read-only/a"))).status).toBe(200);
  });

  test("refuses CONNECT and TRACE", async () => {
    expect((await gateway.once(request("TRACE /node/echo"))).status).toBe(405);
    expect((await gateway.once("CONNECT gw.test:80 HTTP/1.1\r\nHost: gw.test:80\r\n\r\n")).status).toBe(405);
  });

  test("is for its hosts", async () => {
    for (const [host, status] of [
      ["a.test", 200],
      ["A.test:8080", 200],
      ["x.b.test", 200],
      ["b.test", 404],
      ["c.test", 404],
    ] as const) {
      expect((await gateway.once(request("GET /hosted/a", [`Host: ${host}`]))).status).toBe(status);
    }
  });
});

test("methods go through as they are", async () => {
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH", "get"]) {
    expect(json<Echo>(await gateway.once(request(`${method} /node/echo`), method)).method).toBe(method);
  }
});
