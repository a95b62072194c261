// The entry of scripts/conformance-tlsfuzzer: scripts of tlsfuzzer that ask what a server of TLS 1.2 and 1.3 with AEAD suites should do.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runProcess } from "../../harness/run-process.ts";
import { checkoutOf, versionOf, writeSuitePage } from "../suite-page.ts";
import { startTlsSite } from "./gateway.ts";

/** What came of a script. */
interface Outcome {
  readonly script: string;
  readonly passed: number;
  readonly failed: number;
  /** What it said of conversations that failed, with how often. */
  readonly said: ReadonlyMap<string, number>;
}

/** Scripts that need no certificate of a client, no CBC suites and no measurement of time. */
const SCRIPTS = [
  ...["tls13-conversation", "tls13-ccs", "tls13-finished", "tls13-finished-plaintext", "tls13-hrr"],
  ...["tls13-invalid-ciphers", "tls13-keyshare-omitted", "tls13-nociphers", "tls13-zero-content-type"],
  ...["tls13-zero-length-data", "tls13-signature-algorithms", "tls13-rsa-signatures", "tls13-pkcs-signature"],
  ...["tls13-unencrypted-alert", "tls13-multiple-ccs-messages", "tls13-record-padding", "tls13-0rtt-garbage"],
  ...["tls13-no-unknown-groups", "tls13-keyupdate", "tls13-connection-abort", "tls13-symetric-ciphers"],
  ...["fuzzed-ciphertext", "truncating-of-client-hello"],
  ...["message-skipping", "invalid-content-type", "zero-length-data", "ccs", "version-numbers"],
  ...["sslv2-force-cipher", "sslv2-force-cipher-3des", "sslv2-force-cipher-non3des", "sslv2-force-export-cipher"],
  ...["ssl-death-alert", "renegotiation-disabled", "early-application-data", "cve-2016-6309"],
  ...["invalid-client-hello", "invalid-compression-methods"],
  ...["aes-gcm-nonces", "conversation", "clienthello-md5", "fallback-scsv"],
];
/** More options of some scripts: what edge's TLS is, and as much early data as the runtime skips. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "fallback-scsv": ["--tls-1.3", "--min-support", "TLSv1.2"],
  "tls13-0rtt-garbage": ["--num-bytes", "8192"],
};
const RUN_MS = 60_000;

/** Why conversations fail, by script and what the suite said; the first row that fits counts. */
const REASONS: readonly (readonly [script: RegExp, said: RegExp, reason: string])[] = [
  [
    /^(clienthello-md5|invalid-client-hello|tls13-0rtt-garbage)$/,
    /handshake_failure/,
    "the suite: this conversation speaks RSA key exchange alone, which edge does not have, and no option changes it",
  ],
  [
    /^(cve-2016-6309|tls13-signature-algorithms)$/,
    /decode_error/,
    "edge: a ClientHello of more than 16 KiB is refused at its length, as BoringSSL has it; OpenSSL takes 131 KiB",
  ],
  [/^ccs$/, /illegal_parameter/, "BoringSSL: `illegal_parameter` for a ChangeCipherSpec of two bytes"],
  [/^renegotiation-disabled$/, /Alert level/, "BoringSSL: `no_renegotiation` is fatal, not a warning"],
  [
    /^(tls13-ccs|tls13-finished-plaintext|tls13-unencrypted-alert|tls13-multiple-ccs-messages)$/,
    /bad_record_mac/,
    "BoringSSL: a record in clear text among encrypted ones is one that does not decrypt",
  ],
  [
    /^tls13-multiple-ccs-messages$/,
    /Timeout/,
    "the suite: RFC 8446 §5 has each ChangeCipherSpec before Finished dropped, and BoringSSL drops the second as well",
  ],
  [
    /^tls13-connection-abort$/,
    /ApplicationData/,
    "the suite: it waits for a ticket without `psk_key_exchange_modes`, for which RFC 8446 §4.2.9 has none sent",
  ],
  [/^tls13-finished$/, /decrypt_error/, "BoringSSL: `decrypt_error` for a Finished of another length, too"],
  [
    /^tls13-keyupdate$/,
    /decode_error/,
    "BoringSSL: `decode_error` for a KeyUpdate of another value, not `illegal_parameter`",
  ],
  [
    /^(tls13-keyupdate|truncating-of-client-hello)$/,
    /closure|reset|Broken pipe/,
    "TCP: the alert is the same, but the client has sent data behind its fault, so the connection is reset before it reads the alert",
  ],
  [/^tls13-no-unknown-groups$/, /key_share/, "the suite: it wants P-256 first, edge prefers X25519"],
  [
    /^tls13-no-unknown-groups$/,
    /hello_retry_request/,
    "the suite: one of its unknown groups is X25519MLKEM768, which edge has",
  ],
  [/^tls13-symetric-ciphers$/, /handshake_failure/, "BoringSSL: it has no AES-CCM"],
  [/^tls13-zero-content-type$/, /decrypt_error/, "BoringSSL: `decrypt_error` for a record without a content type"],
];

const usage = "scripts/conformance-tlsfuzzer CHECKOUT [PYTHON], a checkout of github.com/tlsfuzzer/tlsfuzzer";
const checkout = checkoutOf("scripts/test-tls13-conversation.py", usage, ["scripts", "tlsfuzzer"]);
const python = pythonOf(process.argv[3] ?? join(checkout, "venv", "bin", "python"));
const folder = mkdtempSync(join(tmpdir(), "edge-tlsfuzzer-"));
const copy = modernCopy();
const site = await startTlsSite();
const queue = SCRIPTS.filter((name) => existsSync(join(checkout, "scripts", `test-${name}.py`)));
const outcomes: Outcome[] = [];
const work = async (): Promise<void> => {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) outcomes.push(await run(name));
};
await Promise.all(Array.from({ length: availableParallelism() }, work));
await site.stop();
rmSync(folder, { recursive: true, force: true });
outcomes.sort((a, b) => a.script.localeCompare(b.script));
const sum = (key: "passed" | "failed"): number => outcomes.reduce((total, one) => total + one[key], 0);
const silent = outcomes.filter(({ passed, failed }) => passed + failed === 0);
writeSuitePage({
  name: "tlsfuzzer",
  title: "tlsfuzzer",
  intro: [
    "Scripts of github.com/tlsfuzzer/tlsfuzzer for servers: `scripts/conformance-tlsfuzzer CHECKOUT [PYTHON]`, against a listener with TLS as it is by default. Scripts about certificates",
    "of clients, about CBC and RSA key exchange and about times are left out. They run as copies: their usual suite is AES-GCM in the place of CBC, and their records have a version that",
    "RFC 8446 §5.1 allows. The TLS of edge is that of its runtime, BoringSSL; edge itself reads the ClientHello. Many scripts take other conversations each time, so the counts differ a little.",
  ].join("\n"),
  version: versionOf(checkout),
  counts: [
    ["passed", sum("passed")],
    ["failed", sum("failed")],
    ["scripts", outcomes.length],
    ["scripts of which every conversation passed", outcomes.filter((one) => one.failed === 0 && one.passed > 0).length],
    ["scripts without a result", silent.length],
  ],
  columns: ["script", "failed", "the suite said", "reason"],
  rows: outcomes.flatMap(({ script, said, failed, passed }) =>
    passed + failed === 0
      ? [[script, "", "no result", ""]]
      : [...said].map(([text, count]) => [
          script,
          String(count),
          text,
          REASONS.find(([of, fits]) => of.test(script) && fits.test(text))?.[2] ?? "not explained yet",
        ]),
  ),
});
process.exit(silent.length < outcomes.length ? 0 : 1);

/** The Python that has tlslite-ng. */
function pythonOf(given: string): string {
  const found = existsSync(given) ? resolve(given) : "python3";
  const env = { ...process.env, PYTHONPATH: checkout };
  const run = Bun.spawnSync([found, "-c", "import tlsfuzzer.runner"], { env, stderr: "ignore" });
  if (run.exitCode === 0) return found;
  process.stderr.write(
    `${found} lacks tlslite-ng as this checkout asks for it (pip install -r ${join(checkout, "requirements.txt")}): ${usage}\n`,
  );
  process.exit(2);
}

/** The suite with an AEAD suite where its scripts have the one of CBC, and the version of records that RFC 8446 §5.1 asks for. */
function modernCopy(): string {
  for (const name of ["scripts", "tlsfuzzer"]) cpSync(join(checkout, name), join(folder, name), { recursive: true });
  for (const part of ["scripts", join("tlsfuzzer", "_apps")])
    for (const name of readdirSync(join(folder, part)).filter((one) => one.endsWith(".py")))
      change(
        join(folder, part, name),
        /\bTLS_ECDHE_RSA_WITH_AES_128_CBC_SHA\b/g,
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
      );
  change(join(folder, "tlsfuzzer", "messages.py"), "port, version=(3, 0), timeout", "port, version=(3, 3), timeout");
  return folder;
}

function change(path: string, from: string | RegExp, to: string): void {
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(from, to));
}

async function run(script: string): Promise<Outcome> {
  const path = join(copy, "scripts", `test-${script}.py`);
  const { stdout: out, stderr: err } = await runProcess(
    [python, path, "-h", "localhost", "-p", String(site.port), ...optionsOf(script)],
    { env: { ...process.env, PYTHONPATH: copy }, timeout: RUN_MS },
  );
  const count = (label: string): number => Number(new RegExp(`^${label}: +(\\d+)$`, "m").exec(out)?.[1] ?? "0");
  return { script, passed: count("PASS"), failed: count("FAIL"), said: saidOf(`${out}\n${err}`) };
}

/** What the suite said last of each conversation that failed, with how often. */
function saidOf(output: string): Map<string, number> {
  const said = new Map<string, number>();
  let last = "";
  const take = (): void => {
    if (last !== "") said.set(last, (said.get(last) ?? 0) + 1);
    last = "";
  };
  for (const line of output.split("\n")) {
    if (line.endsWith(" ...")) take();
    const text = /^\w*Error: (.{1,200})/.exec(line)?.[1];
    if (text !== undefined)
      last = text
        .replaceAll(/0x[0-9a-f]+/g, "0x…")
        .replaceAll(/len=\d+/g, "len=…")
        .slice(0, 120);
  }
  take();
  return said;
}

/** ECDHE in the place of RSA where the script takes it. */
function optionsOf(script: string): string[] {
  const app = join(copy, "tlsfuzzer", "_apps", `test_${script.replaceAll("-", "_")}.py`);
  const text = readFileSync(existsSync(app) ? app : join(copy, "scripts", `test-${script}.py`), "utf8");
  const isEcdhe = /print\(" -d +neg/.test(text);
  return [...(isEcdhe ? ["-d"] : []), ...(OPTIONS[script] ?? [])];
}
