// The entry of scripts/conformance-sslyze: what SSLyze finds at a listener with TLS, and whether it complies with Mozilla's configuration.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { writeSuitePage } from "../suite-page.ts";
import { startTlsSite } from "./gateway.ts";

/** What SSLyze writes of a kind of scan. */
interface Scan {
  readonly status: string;
  readonly result: Readonly<Record<string, unknown>> | null;
}
type Scans = Readonly<Record<string, Scan>>;

const RUN_MS = 300_000;
const CONFIGURATION = "intermediate";

/** What an auditor asks of a scan. */
const CHECKS: readonly (readonly [what: string, scan: string, key: string, wanted: unknown])[] = [
  ["SSL 2.0 is refused", "ssl_2_0_cipher_suites", "is_tls_version_supported", false],
  ["SSL 3.0 is refused", "ssl_3_0_cipher_suites", "is_tls_version_supported", false],
  ["TLS 1.0 is refused", "tls_1_0_cipher_suites", "is_tls_version_supported", false],
  ["TLS 1.1 is refused", "tls_1_1_cipher_suites", "is_tls_version_supported", false],
  ["TLS 1.2 is spoken", "tls_1_2_cipher_suites", "is_tls_version_supported", true],
  ["TLS 1.3 is spoken", "tls_1_3_cipher_suites", "is_tls_version_supported", true],
  ["no compression", "tls_compression", "supports_compression", false],
  ["no CCS injection", "openssl_ccs_injection", "is_vulnerable_to_ccs_injection", false],
  ["no Heartbleed", "heartbleed", "is_vulnerable_to_heartbleed", false],
  ["no ROBOT", "robot", "robot_result", "NOT_VULNERABLE_RSA_NOT_SUPPORTED"],
  ["fallback to older versions is noticed", "tls_fallback_scsv", "supports_fallback_scsv", true],
  ["secure renegotiation", "session_renegotiation", "supports_secure_renegotiation", true],
  ["clients cannot renegotiate", "session_renegotiation", "is_vulnerable_to_client_renegotiation_dos", false],
  ["ECDHE", "elliptic_curves", "supports_ecdh_key_exchange", true],
  ["extended master secret", "tls_extended_master_secret", "supports_ems_extension", true],
];

const usage = "scripts/conformance-sslyze FOLDER, a virtual environment of Python with sslyze";
const program = join(resolve(process.argv[2] ?? ""), "bin", "sslyze");
if (process.argv[2] === undefined || !existsSync(program)) {
  process.stderr.write(`no bin/sslyze: ${usage}\n`);
  process.exit(2);
}
const site = await startTlsSite();
const folder = mkdtempSync(join(tmpdir(), "edge-sslyze-"));
const written = join(folder, "scan.json");
const run = Bun.spawnSync(
  [
    ...[program, "--mozilla_config", CONFIGURATION, "--certinfo_ca_file", site.authority, "--json_out", written],
    `localhost:${site.port}`,
  ],
  { timeout: RUN_MS, stderr: "pipe" },
);
await site.stop();
const report = existsSync(written)
  ? (JSON.parse(readFileSync(written, "utf8")) as {
      readonly sslyze_version: string;
      readonly server_scan_results: readonly { readonly scan_result: Scans | null }[];
    })
  : null;
rmSync(folder, { recursive: true, force: true });
const scans = report?.server_scan_results[0]?.scan_result;
if (report === null || scans === null || scans === undefined) {
  process.stderr.write(`no scan: ${run.stderr.toString().slice(-500)}\n`);
  process.exit(1);
}
const outcomes = CHECKS.map(([what, scan, key, wanted]) => {
  const found = scans[scan];
  const isThere = found?.status === "COMPLETED";
  return { what, isThere, isGood: isThere && found.result?.[key] === wanted, said: String(found?.result?.[key]) };
});
// What the tool has against the certificate of the run is no matter of the gateway.
const told = [...run.stdout.toString().matchAll(/^ {8}\* (.+)$/gm)]
  .map(([, line = ""]) => line)
  .filter((line) => /^(certificate_|ciphers|cipher_|tls_|rsa_|ecdh_|dh_|maximum_)\w*:/.test(line));
const complaints = told.filter((line) => !line.startsWith("certificate_"));
const suites = ["tls_1_2_cipher_suites", "tls_1_3_cipher_suites"].flatMap((scan) =>
  ((scans[scan]?.result?.accepted_cipher_suites ?? []) as { cipher_suite: { name: string } }[]).map(
    ({ cipher_suite }) => cipher_suite.name,
  ),
);
writeSuitePage({
  name: "sslyze",
  title: "SSLyze",
  intro: [
    "A listener with TLS as it is by default, scanned by github.com/nabla-c0d3/sslyze: `scripts/conformance-sslyze FOLDER`, a virtual environment of Python with the package",
    `\`sslyze\`. The scan is also compared with Mozilla's ${CONFIGURATION} configuration; the certificate of the run signs itself, which is left out there.`,
    "",
    `Suites: ${suites.map((suite) => `\`${suite}\``).join(", ")}.`,
  ].join("\n"),
  version: report.sslyze_version,
  counts: [
    ["passed", outcomes.filter(({ isGood }) => isGood).length],
    ["failed", outcomes.filter(({ isThere, isGood }) => isThere && !isGood).length],
    ["not reached", outcomes.filter(({ isThere }) => !isThere).length],
    [`differences from Mozilla's ${CONFIGURATION} configuration`, complaints.length],
  ],
  columns: ["check", "said"],
  rows: [
    ...outcomes.filter(({ isGood }) => !isGood).map(({ what, said }) => [what, said]),
    ...complaints.map((line) => [`Mozilla's ${CONFIGURATION} configuration`, line]),
  ],
});
process.exit(outcomes.every(({ isThere }) => isThere) ? 0 : 1);
