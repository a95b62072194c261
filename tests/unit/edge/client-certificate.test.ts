import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { alternativeNames } from "../../../src/core/alternative-names.ts";
import { shownCertificate } from "../../../src/edge/client-certificate.ts";
import type { TlsSocket } from "../../../src/net/tls-upgrade.ts";
import { makeCertificate } from "../../harness/certificate.ts";

const DAY_MS = 86_400_000;

async function socketWith(...names: { type: "url" | "dns" | "email"; value: string }[]): Promise<TlsSocket> {
  const { cert } = await makeCertificate(names);
  const certificate = new X509Certificate(cert);
  return { getPeerX509Certificate: () => certificate } as unknown as TlsSocket;
}

describe("the certificate that a client has shown", () => {
  test("says who it is", async () => {
    const socket = await socketWith(
      { type: "url", value: "spiffe://mesh/ns/default/sa/client" },
      { type: "dns", value: "client.test" },
      { type: "email", value: "a@b.test" },
    );
    const { isThere, isCurrent, identity } = shownCertificate(socket, true, Date.now());
    expect([isThere, isCurrent]).toEqual([true, true]);
    expect(identity).toEqual({
      subject: "CN=test",
      uris: ["spiffe://mesh/ns/default/sa/client"],
      dnsNames: ["client.test"],
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("is not current when its time is over, whatever the session says", async () => {
    const socket = await socketWith({ type: "dns", value: "client.test" });
    expect(shownCertificate(socket, true, Date.now() + 2 * DAY_MS).isCurrent).toBe(false);
  });

  test("is not looked at where none was asked for", async () => {
    const socket = await socketWith({ type: "dns", value: "client.test" });
    expect(shownCertificate(socket, false, Date.now())).toEqual({ isThere: false, isCurrent: true, identity: null });
  });

  test("cannot pass one name for two", async () => {
    const values = ["spiffe://a/x, URI:spiffe://evil/y", 'spiffe://a/"q"', "spiffe://a,b"];
    const socket = await socketWith(...values.map((value) => ({ type: "url" as const, value })));
    expect(shownCertificate(socket, true, Date.now()).identity?.uris).toEqual(values);
  });
});

test.each([
  ["", []],
  ["DNS:a.test", ["a.test"]],
  ["DNS:a.test, DNS:*.b.test, IP Address:127.0.0.1", ["a.test", "*.b.test"]],
  ['othername:<unsupported>, DNS:a.test, URI:"x\\u002c DNS:evil.test"', ["a.test"]],
  ['DirName:"CN=x\\u002c DNS:evil", DNS:', [""]],
])("the DNS names of %j", (text, names) => {
  expect(alternativeNames(text, "DNS")).toEqual(names);
});
