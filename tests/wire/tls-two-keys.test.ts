import { afterAll, describe, expect, test } from "bun:test";
import { freePort, runEdge, startGateway } from "../harness/gateway.ts";
import { OPENSSL, openssl, Scratch } from "../harness/openssl.ts";

if (OPENSSL === null) console.log("skipped: the choice between two kinds of keys needs openssl");

// A name with an RSA and an ECDSA certificate: each client gets the one that it can check.
describe.skipIf(OPENSSL === null)("a name with two certificates", async () => {
  const scratch = new Scratch();
  const rsa = await selfSigned(scratch, "rsa", ["-newkey", "rsa:2048"]);
  const ec = await selfSigned(scratch, "ec", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
  const larger = await selfSigned(scratch, "larger", ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]);
  const start = async (...pairs: readonly (readonly [string, string])[]) => {
    const port = freePort();
    const certificates = pairs.map(([cert_file, key_file]) => ({ cert_file, key_file }));
    return { gateway: await startGateway({ config: { server: { tls: { port, certificates } } } }), port };
  };
  const [rsaFirst, ecFirst, onlyRsa, three] = await Promise.all([
    start(rsa, ec),
    start(ec, rsa),
    start(rsa),
    start(larger, ec, rsa),
  ]);
  afterAll(async () => {
    await Promise.all([rsaFirst, ecFirst, onlyRsa, three].map(({ gateway }) => gateway.stop()));
    scratch[Symbol.dispose]();
  });

  /** The kind of key that a client is shown; `none` where there is no handshake. */
  async function shown(port: number, ...args: readonly string[]): Promise<string> {
    const { text } = await openssl(port, args.includes("-noservername") ? args : [...NAMED, ...args]);
    return /Peer signature type: (.*)/.exec(text)?.[1]?.toLowerCase() ?? "none";
  }

  test.each([
    ["any", [], /ecdsa/],
    ["any, by TLS 1.2", ["-tls1_2"], /ecdsa/],
    ["ECDSA alone", ["-sigalgs", "ecdsa_secp256r1_sha256"], /ecdsa/],
    ["RSA alone", ["-sigalgs", "rsa_pss_rsae_sha256"], /rsa/],
    ["RSA alone, by TLS 1.2", ["-tls1_2", "-sigalgs", "rsa_pss_rsae_sha256:RSA+SHA256"], /rsa/],
    ["RSA suites alone, by TLS 1.2", ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"], /rsa/],
    ["ECDSA suites alone, by TLS 1.2", ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], /ecdsa/],
    [
      "RSA suites alone, by TLS 1.2, with a suite of TLS 1.3 that no version goes with",
      ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256", "-ciphersuites", "TLS_AES_128_GCM_SHA256"],
      /rsa/,
    ],
    ["curves that exclude the key's, by TLS 1.2", ["-tls1_2", "-groups", "P-384"], /rsa/],
    ["curves that exclude the key's, by TLS 1.3, where they do not count", ["-tls1_3", "-groups", "P-384"], /ecdsa/],
    ["PKCS #1 and ECDSA, by TLS 1.3", ["-tls1_3", "-sigalgs", "RSA+SHA256:ecdsa_secp256r1_sha256"], /ecdsa/],
    ["ECDSA with another curve, and RSA", ["-sigalgs", "ecdsa_secp384r1_sha384:rsa_pss_rsae_sha256"], /rsa/],
  ] as const)("a client that checks %s", async (_, args, kind) => {
    for (const { port } of [rsaFirst, ecFirst]) expect(await shown(port, ...args)).toMatch(kind);
  });

  test("HTTP/3 cannot choose: a note of the start says which one it shows", async () => {
    const certificates = [rsa, ec].map(([cert_file, key_file]) => ({ cert_file, key_file }));
    const tls = { port: freePort(), certificates };
    const gateway = await startGateway({ config: { server: { tls, http3: { enabled: true } } } });
    const { note } = await gateway.log("the note", ({ event }) => event === "start");
    expect(note).toBe(
      `HTTP/3 serves ${rsa[0]} only, never ${ec[0]}, which is for the same name: it cannot choose by client`,
    );
    expect(rsaFirst.gateway.logs.json.filter(({ event }) => event === "start")).toEqual([]);
    await gateway.stop();
  });

  test("without a name it is the same", async () => {
    expect(await shown(rsaFirst.port, "-noservername")).toMatch(/ecdsa/);
    expect(await shown(ecFirst.port, "-noservername", "-sigalgs", "rsa_pss_rsae_sha256")).toMatch(/rsa/);
  });

  test("a client that cannot check the default gets another that it can", async () => {
    const other = await selfSigned(scratch, "other", ["-newkey", "rsa:2048"], "other.test");
    const { gateway, port } = await start(ec, other);
    const rsaAlone = ["-sigalgs", "rsa_pss_rsae_sha256:RSA+SHA256"];
    expect(await shown(port, "-noservername", ...rsaAlone)).toMatch(/rsa/);
    expect(await shown(port, "-servername", "unknown.test", "-tls1_2", ...rsaAlone)).toMatch(/rsa/);
    expect(await shown(port, "-noservername")).toMatch(/ecdsa/);
    // A name that has a certificate has that one.
    expect(await shown(port, ...rsaAlone)).toBe("none");
    await gateway.stop();
  });

  test("a client that offers HTTP/1.0 by ALPN is served", async () => {
    const run = await openssl(onlyRsa.port, [...NAMED, "-alpn", "http/1.0"], "GET /health HTTP/1.0\r\n\r\n");
    expect(run.text).toContain("ALPN protocol: http/1.0");
    expect(run.text).toContain("HTTP/1.1 200 OK");
  });

  test("a certificate that TLS here does not take is a fault of the configuration", async () => {
    const pss = await selfSigned(scratch, "pss", ["-newkey", "rsa-pss", "-pkeyopt", "rsa_keygen_bits:2048"]);
    const short = await selfSigned(scratch, "short", ["-newkey", "rsa:512"]);
    for (const [[cert_file, key_file], fault] of [
      [pss, "such as RSA-PSS: issue it with an RSA or ECDSA key"],
      [short, "its RSA key has 512 bits"],
    ] as const) {
      const config = scratch.write("config.yaml", JSON.stringify({ server: { tls: { cert_file, key_file } } }));
      const { code, stderr } = await runEdge(["check", "--config", config], {});
      expect([code, stderr]).toEqual([1, expect.stringContaining(fault)]);
    }
  });

  test("with one alone, and with three", async () => {
    expect(await shown(onlyRsa.port)).toMatch(/rsa/);
    expect(await shown(onlyRsa.port, "-sigalgs", "ecdsa_secp256r1_sha256")).toBe("none");
    const shownOfThree = await openssl(three.port, [...NAMED, "-sigalgs", "ecdsa_secp384r1_sha384"]);
    expect(shownOfThree.text).toMatch(/384 bit/);
    expect(await shown(three.port, "-sigalgs", "ecdsa_secp256r1_sha256")).toMatch(/ecdsa/);
    expect(await shown(three.port, "-sigalgs", "rsa_pss_rsae_sha256")).toMatch(/rsa/);
  });
});

const NAMED: readonly string[] = ["-servername", "two.test"];

/** Makes a certificate for a host. @returns the paths of certificate and key */
async function selfSigned(
  scratch: Scratch,
  name: string,
  key: readonly string[],
  host = "two.test",
): Promise<readonly [string, string]> {
  const [cert, own] = [scratch.path(`${name}.pem`), scratch.path(`${name}.key`)];
  const extra = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`, "-days", "2"];
  const child = Bun.spawn([OPENSSL!, "req", "-x509", "-nodes", ...key, "-keyout", own, "-out", cert, ...extra], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  expect(await child.exited).toBe(0);
  return [cert, own];
}
