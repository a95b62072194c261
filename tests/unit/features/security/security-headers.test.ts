import { describe, expect, test } from "bun:test";
import { missingFields, SecurityHeadersTap } from "../../../../src/features/security/security-headers-tap.ts";
import type { SecurityHeadersConfig } from "../../../../src/features/security/settings.ts";
import { ClientPeer } from "../../../../src/message/client-peer.ts";
import { ExtraFields } from "../../../../src/message/extra-fields.ts";
import { PrebuiltResponse } from "../../../../src/message/prebuilt-response.ts";
import { samePolicy } from "../../../harness/same-policy.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

const SETTINGS: SecurityHeadersConfig = {
  enabled: true,
  frameOptions: "SAMEORIGIN",
  referrerPolicy: "strict-origin-when-cross-origin",
  hsts: "max-age=31536000",
};
const ALL = ["X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Strict-Transport-Security"];

function names(fields: ExtraFields | null): string[] {
  return (fields?.fields ?? []).map(([name]) => name);
}

/** Names that the tap adds to an answer with these fields, be it made of parts or prebuilt. */
function added(has: readonly string[], tls: boolean, settings = SETTINGS): string[] {
  const tap = new SecurityHeadersTap(samePolicy(missingFields(settings)));
  const { ex } = fakeExchange();
  ex.client = new ClientPeer("192.0.2.1", tls, 443);
  ex.response.headers.resetOwn();
  for (const name of ["Content-Type", ...has]) ex.response.headers.add(name, "x");
  tap.onHead(ex);
  const byParts = names(ex.response.extra);
  ex.response.reset();
  const fixed = new PrebuiltResponse(
    200,
    has.map((name) => [name, "x"] as const),
    "",
  );
  tap.onFixed(ex, fixed);
  expect(names(ex.response.extra)).toEqual(byParts);
  ex.response.reset();
  tap.onFixed(ex, fixed);
  expect(names(ex.response.extra)).toEqual(byParts);
  return byParts;
}

describe("security headers", () => {
  test("have their values", () => {
    const { ex } = fakeExchange();
    new SecurityHeadersTap(samePolicy(missingFields(SETTINGS))).onHead(ex);
    expect(ex.response.extra!.lines.toString()).toBe(
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: SAMEORIGIN\r\nReferrer-Policy: strict-origin-when-cross-origin\r\n",
    );
  });

  test("are added to what says nothing, HSTS over TLS alone", () => {
    expect(added([], true)).toEqual(ALL);
    expect(added([], false)).toEqual(ALL.slice(0, 3));
  });

  test("never stand beside the upstream's own, whatever it says", () => {
    for (let marks = 0; marks < 16; marks++) {
      const has = ALL.filter((_, i) => (marks & (1 << i)) !== 0);
      expect(
        added(
          has.map((name) => name.toLowerCase()),
          true,
        ),
      ).toEqual(ALL.filter((name) => !has.includes(name)));
    }
  });

  test("that are switched off stay out", () => {
    const off = { ...SETTINGS, frameOptions: "", referrerPolicy: "", hsts: "" };
    expect(added([], true, off)).toEqual(["X-Content-Type-Options"]);
    expect(added(["X-Content-Type-Options"], true, off)).toEqual([]);
  });

  test("join what others add, made once", () => {
    const first = new ExtraFields([["A", "1"]]);
    const second = new ExtraFields([["B", "2"]]);
    expect(first.with(second)).toBe(first.with(second));
    expect(first.with(second).lines.toString()).toBe("A: 1\r\nB: 2\r\n");
    expect(first.with(second)).not.toBe(second.with(first));
  });
});
