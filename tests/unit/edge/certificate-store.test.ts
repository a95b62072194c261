import { describe, expect, test } from "bun:test";
import { CertificateStore, type TlsPolicies, type TlsPolicy } from "../../../src/edge/certificate-store.ts";
import { NO_CERTIFICATES, type ServerCertificate } from "../../../src/message/server-certificate.ts";
import { makeCertificate } from "../../harness/certificate.ts";

const pems = await makeCertificate();
const others = await makeCertificate();
const USUAL: TlsPolicy = {
  minVersion: "1.2",
  clientAuth: "none",
  demand: "",
  authoritiesFile: "",
  crlFile: "",
  ciphers: [],
  curves: [],
  protocols: ["http/1.1"],
};
const POLICY: TlsPolicies = { usual: USUAL, hosts: [] };

function certificate(id: string, ...names: string[]): ServerCertificate {
  return { id, names, chain: pems.cert, key: pems.key };
}

function storeOf(...certificates: ServerCertificate[]): CertificateStore {
  const store = new CertificateStore(POLICY);
  store.use({ ...NO_CERTIFICATES, certificates }, POLICY);
  return store;
}

describe("a certificate", () => {
  const set = [
    certificate("default", "default.test"),
    certificate("wild", "*.wild.test", "both.test"),
    certificate("exact", "a.wild.test"),
    certificate("late", "a.wild.test", "*.wild.test", "default.test"),
  ];
  const store = storeOf(...set);
  const contextOf = (name: string) => store.contextFor(name, [])?.context;

  test.each([
    ["", "default.test"],
    ["unknown.test", "default.test"],
    ["b.wild.test", "c.wild.test"],
    ["both.test", "b.wild.test"],
    ["a.b.wild.test", ""],
    ["wild.test", ""],
    [".wild.test", ""],
    ["test", ""],
  ])("of %j is that of %j", (name, other) => {
    expect(contextOf(name)).toBe(contextOf(other)!);
  });

  test("of an exact name is not that of the wildcard", () => {
    expect(contextOf("a.wild.test")).not.toBe(contextOf("b.wild.test")!);
  });

  test("is not there where there are none", () => {
    expect(new CertificateStore(POLICY).contextFor("a.test", [])).toBeNull();
  });
});

describe("a challenge", () => {
  const store = new CertificateStore(POLICY);
  store.use(
    { ...NO_CERTIFICATES, certificates: [certificate("a", "a.test")], challenges: [certificate("c", "a.test")] },
    POLICY,
  );

  test("is shown to whoever offers its protocol alone", () => {
    const choice = store.contextFor("a.test", ["acme-tls/1"])!;
    expect(choice.options.ALPNProtocols.toString("latin1")).toBe("\x0aacme-tls/1");
    expect(store.contextFor("a.test", ["acme-tls/1", "h2"])!.options.ALPNProtocols.toString("latin1")).toBe(
      "\x08http/1.1",
    );
  });

  test.each(["b.test", "", "x.a.test"])("is for its name alone, not %j", (name) => {
    expect(store.contextFor(name, ["acme-tls/1"])).toBeNull();
  });
});

describe("another set", () => {
  test("keeps the contexts, and so the sessions, of certificates that stay", () => {
    const store = storeOf(certificate("one", "one.test"), certificate("two", "two.test"));
    const [one, two] = ["one.test", "two.test"].map((name) => store.contextFor(name, [])!.context);
    const changed = { ...certificate("two", "two.test"), chain: others.cert, key: others.key };
    store.use({ ...NO_CERTIFICATES, certificates: [changed, certificate("one", "one.test")] }, POLICY);
    expect(store.contextFor("one.test", [])!.context).toBe(one!);
    expect(store.contextFor("two.test", [])!.context).not.toBe(two!);
  });

  test.each<[string, Partial<TlsPolicy>, string]>([
    ["another least version", { minVersion: "1.3" }, ""],
    ["client certificates", { clientAuth: "require", demand: "them" }, pems.cert],
    ["other suites", { ciphers: ["ECDHE-RSA-AES256-GCM-SHA384"] }, ""],
  ])("with %s makes new contexts", (_name, change, clientAuthorities) => {
    const store = storeOf(certificate("one", "one.test"));
    const before = store.contextFor("one.test", [])!.context;
    const certificates = [certificate("one", "one.test")];
    store.use({ ...NO_CERTIFICATES, certificates, clientAuthorities }, { usual: { ...USUAL, ...change }, hosts: [] });
    const choice = store.contextFor("one.test", [])!;
    expect(choice.context).not.toBe(before);
    expect(choice.demand).toBe(change.demand ?? "");
    expect(choice.options.requestCert).toBe(change.clientAuth === "require");
  });
});

// RFC 8446 §4.4.2.2: the key, the chain's signature, and before TLS 1.3 suites and curves decide.
describe("of several for one name", () => {
  const [P256, P384, PSS, PKCS1] = [0x0403, 0x0503, 0x0804, 0x0401];
  const of = (id: string, signatures: number[], issuedWith?: number[]): ServerCertificate => ({
    ...certificate(id, "a.test"),
    signatures,
    ...(issuedWith === undefined ? {} : { issuedWith }),
  });
  const rsa = of("rsa", [PSS, PKCS1], [PKCS1]);
  const ecByRsa = of("ec by rsa", [P256], [PKCS1]);
  const ecByEc = of("ec by ec", [P256], [P256]);
  const larger = of("larger", [P384], [P384]);
  const ANY = { certificateSignatures: [], groups: [], isTls13: true, allowsEcdsa: true, allowsRsa: true };
  const old = { ...ANY, isTls13: false };

  test.each([
    ["any key and chain", [rsa, ecByEc], { ...ANY, signatures: [P256, PSS, PKCS1] }, ecByEc],
    [
      "chains of RSA alone",
      [ecByEc, ecByRsa, rsa],
      { ...ANY, signatures: [P256, PSS], certificateSignatures: [PKCS1] },
      ecByRsa,
    ],
    ["no chain that is here", [ecByEc, rsa], { ...ANY, signatures: [P256], certificateSignatures: [0x0601] }, ecByEc],
    ["PKCS #1 alone by TLS 1.3", [ecByEc, rsa], { ...ANY, signatures: [PKCS1] }, rsa],
    ["PKCS #1 and P-256 by TLS 1.3", [rsa, ecByEc], { ...ANY, signatures: [PKCS1, P256] }, ecByEc],
    ["PKCS #1 alone by TLS 1.2", [ecByEc, rsa], { ...old, signatures: [PKCS1] }, rsa],
    ["P-384 without its curve by TLS 1.2", [larger, rsa], { ...old, signatures: [P384, PKCS1], groups: [23, 29] }, rsa],
    [
      "P-384 without its curve by TLS 1.3",
      [larger, rsa],
      { ...ANY, signatures: [P384, PSS], groups: [23, 29] },
      larger,
    ],
    ["nothing, by suites of RSA", [ecByEc, rsa], { ...old, signatures: [], allowsEcdsa: false }, rsa],
    ["nothing, by suites of ECDSA", [rsa, ecByEc], { ...old, signatures: [], allowsRsa: false }, ecByEc],
    ["nothing, by any suites", [ecByEc, rsa], { ...old, signatures: [] }, rsa],
    ["ECDSA by suites of RSA", [ecByEc, rsa], { ...old, signatures: [P256, PKCS1], allowsEcdsa: false }, rsa],
  ])("a client that checks %s", (_, certificates, offer, wanted) => {
    const store = storeOf(...certificates);
    const chosen = store.contextFor("a.test", [], offer)!.context;
    const byItself = certificates.map((one) => {
      const schemes = { ...ANY, signatures: one.signatures!, certificateSignatures: one.issuedWith ?? [] };
      return [one.id, store.contextFor("a.test", [], schemes)!.context === chosen] as const;
    });
    expect(byItself.filter(([, is]) => is).map(([id]) => id)).toEqual([wanted.id]);
  });
});
