import { afterAll, describe, expect, test } from "bun:test";
import { daysFromNow, makeCertificate, TestAuthority, type TestCertificate } from "../harness/certificate.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { OPENSSL, openssl, Scratch } from "../harness/openssl.ts";
import { request } from "../harness/raw-client.ts";
import { TlsClient } from "../harness/tls-client.ts";

const server = await makeCertificate();
const trusted = await TestAuthority.make("trusted");
const alsoTrusted = await TestAuthority.make("also trusted");
const stranger = await TestAuthority.make("stranger");
const right = await trusted.issue({ subject: "client" });
const second = await alsoTrusted.issue({ subject: "client" });
const wrong = await stranger.issue({ subject: "client" });
const expired = await trusted.issue({ subject: "client", notBefore: daysFromNow(-9), notAfter: daysFromNow(-2) });
const early = await trusted.issue({ subject: "client", notBefore: daysFromNow(1), notAfter: daysFromNow(2) });
const selfSigned = await makeCertificate();

const [requestPort, requirePort, anyPort] = [freePort(), freePort(), freePort()];
const requesting = await start("request", requestPort);
const requiring = await start("require", requirePort);
const taking = await start("any", anyPort);
afterAll(async () => {
  await requesting.stop();
  await requiring.stop();
  await taking.stop();
});

function start(clientAuth: string, port: number): Promise<Gateway> {
  const tls = { port, cert_file: "cert.pem", key_file: "cert.key", client_auth: clientAuth, client_ca_file: "ca.pem" };
  return startGateway({
    config: { server: { tls, workers: 1 } },
    routes: [{ type: "respond", path: "/who", body: "[{tls.subject}]" }],
    files: { "cert.pem": server.cert, "cert.key": server.key, "ca.pem": `${trusted.cert}\n${alsoTrusted.cert}\n` },
  });
}

/** Status of a request with this certificate; 0 where there is no answer. */
async function statusWith(port: number, certificate: TestCertificate | null): Promise<number> {
  return TlsClient.once(port, request("GET /health"), certificate ?? {}).then(
    (reply) => reply.status,
    () => 0,
  );
}

async function failures(gateway: Gateway, reason: string): Promise<number> {
  return gateway.metric("gateway_tls_handshake_failures_total", { reason });
}

describe.each([
  ["a certificate of the authority", right, 200, 200],
  ["a certificate of the second authority in the file", second, 200, 200],
  ["no certificate", null, 200, 0],
  ["a certificate of a stranger", wrong, 0, 0],
  ["an expired certificate", expired, 0, 0],
  ["a certificate that is not good yet", early, 0, 0],
  ["a self-signed certificate", selfSigned, 0, 0],
] as const)("%s", (_name, certificate, whereRequested, whereRequired) => {
  test("where one is asked for", async () => {
    const before = await failures(requesting, "client_certificate_refused");
    expect(await statusWith(requestPort, certificate)).toBe(whereRequested);
    expect(await failures(requesting, "client_certificate_refused")).toBe(before + (whereRequested === 0 ? 1 : 0));
  });

  test("where one is required", async () => {
    expect(await statusWith(requirePort, certificate)).toBe(whereRequired);
  });

  test("where any is taken, and counts only if it is verified", async () => {
    const { text } = await TlsClient.once(anyPort, request("GET /who"), certificate ?? {});
    expect(text).toBe(certificate === right || certificate === second ? "[CN=client]" : "[]");
  });
});

describe.skipIf(OPENSSL === null)("openssl", () => {
  const GET = "GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

  test.each(["tls1_2", "tls1_3"])(
    "with its certificate is served with %s, and resumes its session",
    async (version) => {
      using scratch = new Scratch();
      const own = ["-cert", scratch.write("cert.pem", right.cert), "-key", scratch.write("key.pem", right.key)];
      const session = scratch.path("session.pem");
      const first = await openssl(requirePort, [`-${version}`, ...own, "-sess_out", session], GET);
      expect(first.text).toContain("HTTP/1.1 200 OK");
      const { text } = await openssl(requirePort, [`-${version}`, "-sess_in", session], GET);
      expect(text).toContain("Reused, TLSv1");
      expect(text).toContain("HTTP/1.1 200 OK");
    },
  );

  test.each([
    ["tls1_2", "alert handshake failure"],
    ["tls1_3", "alert certificate required"],
  ])("without one learns by an alert what is missing, with %s", async (version, alert) => {
    const { text } = await openssl(requirePort, [`-${version}`], GET);
    expect(text).toContain(alert);
    expect(text).not.toContain("HTTP/1.1");
  });

  test.each(["tls1_2", "tls1_3"])(
    "with a stranger's certificate has no identity in a resumed session, with %s",
    async (version) => {
      using scratch = new Scratch();
      const WHO = GET.replace("/health", "/who");
      const session = scratch.path("session.pem");
      for (const [own, subject] of [
        [wrong, "[]"],
        [right, "[CN=client]"],
      ] as const) {
        const pair = ["-cert", scratch.write("cert.pem", own.cert), "-key", scratch.write("key.pem", own.key)];
        expect((await openssl(anyPort, [`-${version}`, ...pair, "-sess_out", session], WHO)).text).toContain(subject);
        const { text } = await openssl(anyPort, [`-${version}`, "-sess_in", session], WHO);
        expect(text).toContain("HTTP/1.1 200 OK");
        expect(text).toContain(subject);
      }
    },
  );

  test("is told whose certificates are taken", async () => {
    const { text } = await openssl(requirePort, ["-tls1_2"], GET);
    expect(text).toMatch(/CN ?= ?trusted/);
  });
});
