// docs/sidecar.md#authorization
import { describe, expect, test } from "bun:test";
import { methodSet } from "../../../../src/features/route/method-set.ts";
import { type AccessRule, IngressAccess, spiffeId } from "../../../../src/features/sidecar/ingress-access.ts";
import { parsedHead } from "../../../harness/parsed-head.ts";

const WEB = "spiffe://mesh/ns/shop/sa/web";
const TILL = "spiffe://mesh/ns/till/sa/till";
const identity = (...uris: string[]) => ({ subject: "CN=x", uris, dnsNames: [], sha256: "ab" });

function rule(identities: string[], methods: string[], paths: string[]): AccessRule {
  return { identities, methods: methodSet(methods).allowed, paths };
}

describe("the id of a client", () => {
  test.each([
    [[WEB], WEB],
    [[WEB, TILL], ""],
    [[], ""],
    [["https://mesh/web"], ""],
  ])("%p", (uris, id) => {
    expect(spiffeId(identity(...uris))).toBe(id);
  });

  test("none without a certificate", () => {
    expect(spiffeId(null)).toBe("");
  });
});

describe("allowed_ids", () => {
  const denial = (id: string | null, allowed: string) =>
    new IngressAccess([allowed], []).denialOf(id === null ? null : identity(id), parsedHead("GET /"));

  test("are compared whole, or by their beginning", () => {
    expect([denial(WEB, WEB), denial(WEB, "spiffe://mesh/ns/shop/*")]).toEqual(["", ""]);
    for (const other of ["spiffe://mesh/ns/shop", `${WEB}2`, "spiffe://mesh/ns/sho/*", WEB.slice(0, -1)]) {
      expect([other, denial(WEB, other)]).toEqual([other, "allowed_ids"]);
    }
    expect(denial(null, "spiffe://*")).toBe("allowed_ids");
  });

  test("a certificate with two URIs has none", () => {
    const access = new IngressAccess([WEB], []);
    expect(access.denialOf(identity(WEB, TILL), parsedHead("GET /"))).toBe("allowed_ids");
  });
});

describe("authorization", () => {
  const access = new IngressAccess(
    [],
    [
      rule([WEB], ["GET"], ["/orders/*", "/orders"]),
      rule([TILL], ["POST", "GET"], ["/orders/new", "/files/*"]),
      rule(["spiffe://*"], ["GET"], ["/catalog/*"]),
      rule([], ["GET"], ["/healthz"]),
    ],
  );
  const denial = (id: string | null, start: string) =>
    access.denialOf(id === null ? null : identity(id), parsedHead(start));

  test.each([
    [WEB, "GET /orders"],
    [WEB, "HEAD /orders/7?x=/../"],
    [WEB, "GET /orders/a%20b"],
    [WEB, "GET /orders/7;v=1"],
    [WEB, "GET /orders//7"],
    [TILL, "POST /orders/new"],
    [TILL, "GET /files/a%2Fb"],
    [TILL, "GET /catalog/x"],
    [null, "GET /healthz"],
  ])("%s may %s", (id, start) => {
    expect(denial(id, start)).toBe("");
  });

  test.each([
    [WEB, "POST /orders/7"],
    [WEB, "DELETE /orders/7"],
    [WEB, "GET /orders2"],
    [WEB, "GET /ORDERS/7"],
    [WEB, "GET /"],
    [TILL, "GET /orders/7"],
    [TILL, "POST /orders/new/"],
    [null, "GET /catalog/x"],
    [null, "POST /healthz"],
  ])("%s may not %s", (id, start) => {
    expect(denial(id, start)).toBe("authorization");
  });

  // Each is a path outside for some server behind.
  test.each([
    "/files/../admin",
    "/files/x//../../admin",
    "/files/a/../b",
    "/files/./b",
    "/files/%2e%2e/admin",
    "/files/..%2fadmin",
    "/files/..%5cadmin",
    "/files/..\\admin",
    "/files/..;/admin",
    "/files/.;x/..;y/admin",
    "/files/%252e%252e/admin",
    "/files/..%252fadmin",
    "/files;/../admin",
    "/admin/../files/x",
    "/admin/%2e%2e/files/x",
    "//files/x",
    "/%66iles/x/../../admin",
    "/%61dmin",
    "/admin;/files/x",
    "/files%2f..%2fadmin",
  ])("no spelling gets round: %s", (path) => {
    expect(denial(TILL, `GET ${path}`)).toBe("authorization");
  });
});
