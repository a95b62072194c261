import { describe, expect, test } from "bun:test";
import { createHash, createPrivateKey, X509Certificate } from "node:crypto";
import { crypto as acmeCrypto } from "acme-client";
import { reverseName } from "../../../../../src/core/ip-address.ts";
import { requireFitting } from "../../../../../src/features/acme/control/issued-check.ts";
import { challengeCertificate, selfSigned } from "../../../../../src/features/acme/control/own-certificate.ts";
import { certificateId, readWindow } from "../../../../../src/features/acme/control/renewal-information.ts";
import { issueCertificate } from "./certificates.ts";

describe("the certificate until there is one", () => {
  test("is good now, for all names, with a P-256 key", async () => {
    const { chain, key } = await selfSigned(["a.test", "b.test", "192.0.2.7"]);
    const certificate = new X509Certificate(chain);
    expect(certificate.subjectAltName).toBe("DNS:a.test, DNS:b.test, IP Address:192.0.2.7");
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(createPrivateKey(key).asymmetricKeyDetails?.namedCurve).toBe("prime256v1");
    expect(Date.parse(certificate.validFrom)).toBeLessThan(Date.now());
    expect(Date.parse(certificate.validTo)).toBeGreaterThan(Date.now());
  });
});

describe("the certificate that answers tls-alpn-01", () => {
  test("carries the digest of the key authorization in a critical extension, for one name", async () => {
    const { chain } = await challengeCertificate("a.test", "token.thumb");
    const certificate = new X509Certificate(chain);
    expect(certificate.subjectAltName).toBe("DNS:a.test");
    expect(acmeCrypto.isAlpnCertificateAuthorizationValid(chain, "token.thumb")).toBe(true);
    expect(() => acmeCrypto.isAlpnCertificateAuthorizationValid(chain, "token.other")).not.toThrow();
    expect(acmeCrypto.isAlpnCertificateAuthorizationValid(chain, "token.other")).toBe(false);
    // OID 1.3.6.1.5.5.7.1.31, TRUE, an OCTET STRING in an OCTET STRING. RFC 8737 §3.
    const digest = createHash("sha256").update("token.thumb").digest("hex");
    expect(certificate.raw.toString("hex")).toContain(`06082b0601050507011f0101ff04220420${digest}`);
  });

  test.each([
    ["192.0.2.7", "7.2.0.192.in-addr.arpa"],
    ["2001:db8::1", `1.${"0.".repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`],
    ["::1", `1.${"0.".repeat(31)}ip6.arpa`],
  ])("for the address %s is asked for by its reverse name", (address, name) => {
    expect(reverseName(address)).toBe(name);
  });
});

describe("renewal information", () => {
  test("the identifier is that of the RFC's example", async () => {
    // RFC 9773 §4.1.
    const { chain } = await issueCertificate({ serial: "0087654321" });
    expect(certificateId(chain)).toBe("aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
  });

  test("a window is read, and says when to ask again", () => {
    const document = { suggestedWindow: { start: "2027-01-02T04:00:00Z", end: "2027-01-03T04:00:00Z" } };
    const startMs = Date.parse("2027-01-02T04:00:00Z");
    const window = { startMs, endMs: startMs + 86_400_000 };
    expect(readWindow(document, undefined, 0)).toEqual({ ...window, askAgainMs: 21_600_000 });
    expect(readWindow(document, "7200", 0)).toEqual({ ...window, askAgainMs: 7_200_000 });
    expect(readWindow(document, "1", 0)).toEqual({ ...window, askAgainMs: 60_000 });
    expect(readWindow(document, "999999999", 0)).toEqual({ ...window, askAgainMs: 86_400_000 });
  });

  test.each([
    null,
    "window",
    {},
    { suggestedWindow: null },
    { suggestedWindow: { start: "x", end: "y" } },
    { suggestedWindow: { start: "2027-01-03T04:00:00Z", end: "2027-01-02T04:00:00Z" } },
  ])("%p is as good as none", (document) => {
    expect(readWindow(document, undefined, 0)).toBeNull();
  });
});

describe("what an authority sends is checked", () => {
  test("and taken when it fits", async () => {
    requireFitting(await issueCertificate({ names: ["a.test", "b.test"] }), ["a.test", "b.test"], Date.now());
  });

  test("no certificate, another key, a missing name, an expired one: all refused", async () => {
    const good = await issueCertificate();
    const other = await issueCertificate();
    const check = (issued: typeof good, names: string[]) => () => requireFitting(issued, names, Date.now());
    expect(check({ ...good, chain: "<html>" }, ["a.test"])).toThrow("no certificate");
    expect(check({ ...good, key: other.key }, ["a.test"])).toThrow("another key");
    expect(check(good, ["a.test", "b.test"])).toThrow("without b.test");
    const old = await issueCertificate({ notBeforeMs: 1000, notAfterMs: 2000 });
    expect(check(old, ["a.test"])).toThrow("expired");
  });
});
