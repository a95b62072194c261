import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";

/** What h2spec found: how many cases passed, and those that did not, as `section: what it does`. */
export interface SpecResult {
  readonly passed: number;
  readonly failed: readonly string[];
}

/** Where a run goes: to the TLS port, where ALPN says `h2`, or to the plain port, which is HTTP/1.1's as well. */
export type SpecWay = "tls" | "cleartext";

/** The case that VECTOR-08 contradicts: it fails unless `server.http2.unknown_pseudo_headers` is `reject`. */
export const VECTOR_08_CASE = "http2/8.1.2.1: Sends a HEADERS frame that contains a unknown pseudo-header field";

/**
 * The case that a port shared with HTTP/1.1 fails. What does not begin with the preface is a malformed request line there,
 * which gets 400 before the connection closes, as RFC 9112 §3 asks for, and RFC 9113 §3.4 is content with (such a peer "is not
 * using HTTP/2"). The tool passes a connection that ends without a byte and no other: it reads the letters `HTT` as the
 * length of a frame, 4740180 bytes, and gives up. Saying nothing would please it and leave clients of HTTP/1.1 in the dark.
 */
export const SHARED_PORT_CASE = "http2/3.5: Sends invalid connection preface";

/** The installed tool: H2SPEC, the one that scripts/conformance-h2spec has installed, or one on the path; null without. */
export function findH2spec(): string | null {
  const own = join(import.meta.dir, "../../dist/tools/h2spec");
  if (process.env.H2SPEC !== undefined) return process.env.H2SPEC;
  return existsSync(own) ? own : Bun.which("h2spec");
}

/** Starts a gateway for h2spec. */
export async function startSpecGateway(pseudoHeaders: "drop" | "reject"): Promise<Gateway & { tlsPort: number }> {
  const tlsPort = freePort();
  const { cert, key } = await makeCertificate();
  const gateway = await startGateway({
    config: {
      server: {
        access_log: { enabled: false },
        http2: { unknown_pseudo_headers: pseudoHeaders },
        tls: { port: tlsPort, cert_file: "spec.pem", key_file: "spec.key" },
      },
    },
    files: { "spec.pem": cert, "spec.key": key },
  });
  return Object.assign(gateway, { tlsPort });
}

/** Runs all cases, the strict ones too. */
export async function runH2spec(
  tool: string,
  gateway: { port: number; tlsPort: number },
  way: SpecWay,
): Promise<SpecResult> {
  const folder = mkdtempSync(join(tmpdir(), "edge-h2spec-"));
  const report = join(folder, "report.xml");
  const port = way === "tls" ? gateway.tlsPort : gateway.port;
  const tls = way === "tls" ? ["-t", "-k"] : [];
  try {
    const args = ["-h", "127.0.0.1", "-p", `${port}`, "-S", "-o", "3", "--path", "/health", "-j", report, ...tls];
    const child = Bun.spawn([tool, ...args], { stdout: "ignore", stderr: "ignore", timeout: RUN_MS });
    await child.exited;
    return readReport(readFileSync(report, "utf8"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readReport(xml: string): SpecResult {
  const cases = [...xml.matchAll(/<testcase package="([^"]*)" classname="([^"]*)"[^>]*>([\s\S]*?)<\/testcase>/g)];
  const failed = cases.filter(([, , , content = ""]) => content.includes("<failure") || content.includes("<error"));
  return {
    passed: cases.length - failed.length,
    failed: failed.map(([, section, name]) => `${section}: ${name}`.replaceAll("&#34;", '"')),
  };
}

const RUN_MS = 60_000;
