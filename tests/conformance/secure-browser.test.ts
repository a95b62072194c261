import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { BROWSER_FLAGS } from "./browser-flags.ts";

const BROWSER = Bun.which("chromium");
if (BROWSER === null)
  console.log("skipped: HTTP/2 and HTTP/3 in a browser need chromium (Debian: apt install chromium)");

const UPLOAD_BYTES = 24_000_000;
/** Asks for itself, uploads, and says what came of it by asking for `/app/report/<what>`. */
const PAGE = `<!doctype html><meta charset="utf-8"><title>h3</title><script type="module">
const upload = await fetch("/node/upload", { method: "POST", body: new Uint8Array(${UPLOAD_BYTES}) });
await fetch("/app/report/" + upload.status + "-" + (await upload.json()).length);
</script>`;

const PROTOCOLS: readonly (readonly [string, boolean])[] = [
  ["HTTP/2.0", false],
  ["HTTP/3.0", true],
];

describe.skipIf(BROWSER === null).each(PROTOCOLS)("a browser over %s", (protocol, isQuic) => {
  const profile = mkdtempSync(join(tmpdir(), "edge-browser-"));
  const origin = EchoOrigin.start();
  const port = freePort();
  let gateway: Gateway;
  let browser: Bun.Subprocess;

  beforeAll(async () => {
    const { cert, key } = await makeCertificate();
    gateway = await startGateway({
      config: {
        server: {
          max_body_bytes: "32MiB",
          access_log: { enabled: true },
          tls: { port, cert_file: "a.pem", key_file: "a.key" },
          http3: { enabled: isQuic },
        },
      },
      routes: [upstream("/node", origin), { type: "static", prefix: "/app", dir: "site" }],
      files: { "a.pem": cert, "a.key": key, "site/index.html": PAGE },
    });
    const spki = new X509Certificate(cert).publicKey.export({ type: "spki", format: "der" });
    browser = Bun.spawn({
      cmd: [
        BROWSER!,
        ...BROWSER_FLAGS,
        `--user-data-dir=${profile}`,
        "--host-resolver-rules=MAP localhost 127.0.0.1",
        ...(isQuic ? [`--origin-to-force-quic-on=localhost:${port}`] : ["--disable-quic"]),
        `--ignore-certificate-errors-spki-list=${createHash("sha256").update(spki).digest("base64")}`,
        `https://localhost:${port}/app/`,
      ],
      stdio: ["ignore", "ignore", "ignore"],
    });
  }, 60_000);

  afterAll(async () => {
    browser.kill("SIGKILL");
    await browser.exited;
    gateway.kill();
    origin.stop();
    rmSync(profile, { recursive: true, force: true });
  });

  test("loads a page and uploads 24 MB", async () => {
    const report = await gateway.logs.until("the report", (line) => pathOf(line).startsWith("/app/report/"), 30_000);
    expect(pathOf(report)).toBe(`/app/report/200-${UPLOAD_BYTES}`);
    expect(report.protocol).toBe(protocol);
    const page = await gateway.log("the page", (line) => pathOf(line) === "/app/");
    expect([page.protocol, page.status]).toEqual([protocol, 200]);
  }, 60_000);
});

function pathOf(line: LogLine): string {
  return typeof line.path === "string" ? line.path : "";
}
