// The entry of scripts/conformance-testssl: what testssl.sh finds at a listener with TLS.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "../../harness/run-process.ts";
import { checkoutOf, versionOf, writeSuitePage } from "../suite-page.ts";
import { startTlsSite } from "./gateway.ts";

/** A line of the tool's report. */
interface Finding {
  readonly id: string;
  readonly severity: "OK" | "INFO" | "LOW" | "MEDIUM" | "HIGH" | "CRITICAL" | "WARN" | "DEBUG" | "FATAL";
  readonly finding: string;
}

const RUN_MS = 900_000;
/** Findings about the certificate of the run, which signs itself and is of no authority. */
const OF_CERTIFICATE = /^(cert_|cert|OCSP|DNS_CAA|ipv4|certs_)/;

/** What the tool has against the listener, by the id of its finding. */
const REASONS: readonly (readonly [id: RegExp, reason: string])[] = [
  [/^(HSTS|banner|security_headers|HTTP_)/, "`security_headers` of edge is off by default"],
  [/^overall_grade/, "the certificate of the run is not trusted"],
  [/^grade_cap/, "the certificate of the run is not trusted"],
  [/^(engine_problem|scanProblem|old_openssl)/, "the tool's own OpenSSL"],
  [/^FS_TLS12_sig_algs/, "the runtime signs with SHA-1 for clients of TLS 1.2 that offer nothing better"],
  [/^BREACH/, "compression of responses that hold secrets is the application's matter: `compression` of a route"],
];

const usage = "scripts/conformance-testssl CHECKOUT, a checkout of github.com/testssl/testssl.sh";
const checkout = checkoutOf("testssl.sh", usage, ["testssl.sh", "etc"]);
const site = await startTlsSite();
const folder = mkdtempSync(join(tmpdir(), "edge-testssl-"));
const written = join(folder, "findings.json");
const { stdout } = await runProcess(
  [
    ...["bash", join(checkout, "testssl.sh"), "--quiet", "--color", "0", "--warnings", "batch", "--ip", "one"],
    ...["--jsonfile", written, `localhost:${site.port}`],
  ],
  { env: { ...process.env }, timeout: RUN_MS },
);
await site.stop();
const all = existsSync(written) ? (JSON.parse(readFileSync(written, "utf8")) as Finding[]) : [];
rmSync(folder, { recursive: true, force: true });
const findings = all.filter(({ id }) => !OF_CERTIFICATE.test(id));
if (findings.length === 0 || all.some(({ severity }) => severity === "FATAL")) {
  process.stderr.write(`no findings: ${stdout.trim().split("\n").slice(-3).join(" ")}\n`);
  process.exit(1);
}
const of = (...severities: Finding["severity"][]): Finding[] =>
  findings.filter(({ severity }) => severities.includes(severity));
writeSuitePage({
  name: "testssl",
  title: "testssl.sh",
  intro: [
    "A listener with TLS as it is by default, looked at by github.com/testssl/testssl.sh: `scripts/conformance-testssl CHECKOUT`. *Passed* are findings that the tool calls OK, *failed* those that",
    "it calls LOW, MEDIUM, HIGH or CRITICAL. Findings about the certificate, which the run has made for itself, are left out.",
  ].join("\n"),
  version: versionOf(checkout),
  counts: [
    ["passed", of("OK").length],
    ["failed", of("LOW", "MEDIUM", "HIGH", "CRITICAL").length],
    ["findings that only inform", of("INFO", "DEBUG").length],
    ["warnings of the tool about itself", of("WARN").length],
  ],
  columns: ["finding", "severity", "said", "reason"],
  rows: of("LOW", "MEDIUM", "HIGH", "CRITICAL").map(({ id, severity, finding }) => [
    id,
    severity,
    finding,
    REASONS.find(([fits]) => fits.test(id))?.[1] ?? "not explained yet",
  ]),
});
process.exit(0);
