// The entry of scripts/conformance-tlsfuzzer: scripts of tlsfuzzer that ask what a server of TLS 1.2 and 1.3 with AEAD suites should do.
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
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
  ...[
    "fuzzed-ciphertext",

    "truncating-of-client-hello",
  ],
  ...["message-skipping", "invalid-content-type", "zero-length-data", "ccs", "version-numbers"],
  ...["sslv2-force-cipher", "sslv2-force-cipher-3des", "sslv2-force-cipher-non3des", "sslv2-force-export-cipher"],
  ...["ssl-death-alert", "renegotiation-disabled", "early-application-data", "cve-2016-6309"],
  ...["invalid-client-hello", "invalid-compression-methods"],
  ...["aes-gcm-nonces", "conversation", "clienthello-md5", "bleichenbacher-workaround", "fallback-scsv"],
];
const SUITE = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
const RUN_MS = 60_000;

/** What failures mean, by what the suite said; the first row that fits counts. */
const REASONS: readonly (readonly [said: RegExp, reason: string])[] = [
  [/Expected alert/, "habit: the connection ends with another alert, the runtime's"],
  [
    /closure|Broken pipe|reset|ExpectAlert/,
    "habit: the connection ends without the alert, or before the client has sent all",
  ],
  [/Alert\(fatal, (handshake_failure|protocol_version)/, "habit: edge speaks ECDHE with AEAD suites alone"],
  [/Alert\(fatal, inappropriate_fallback/, "habit: edge has no older version to fall back to"],
  [/Alert\(fatal/, "habit: the runtime ends the connection where the suite goes on"],
  [/ApplicationData|NewSessionTicket/, "habit: the response comes before the ticket, as TLS allows"],
  [/key_share/, "habit: the runtime prefers another group"],
  [/./, "the runtime's TLS"],
];

const usage = "scripts/conformance-tlsfuzzer CHECKOUT [PYTHON], a checkout of github.com/tlsfuzzer/tlsfuzzer";
const checkout = checkoutOf("scripts/test-tls13-conversation.py", usage);
const python = pythonOf(process.argv[3] ?? join(checkout, "venv", "bin", "python"));
const site = await startTlsSite();
const queue = SCRIPTS.filter((name) => existsSync(join(checkout, "scripts", `test-${name}.py`)));
const outcomes: Outcome[] = [];
const work = async (): Promise<void> => {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) outcomes.push(await run(name));
};
await Promise.all(Array.from({ length: availableParallelism() }, work));
await site.stop();
outcomes.sort((a, b) => a.script.localeCompare(b.script));
const sum = (key: "passed" | "failed"): number => outcomes.reduce((total, one) => total + one[key], 0);
const silent = outcomes.filter(({ passed, failed }) => passed + failed === 0);
writeSuitePage({
  name: "tlsfuzzer",
  title: "tlsfuzzer",
  intro: [
    "Scripts of github.com/tlsfuzzer/tlsfuzzer for servers: `scripts/conformance-tlsfuzzer CHECKOUT [PYTHON]`, against a listener with TLS as it is by default. Scripts about certificates",
    `of clients, about CBC and RSA key exchange and about times are left out; where a script takes a suite, it gets \`${SUITE}\`. The TLS of edge is that of its runtime, BoringSSL.`,
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
          REASONS.find(([fits]) => fits.test(text))?.[1] ?? "not explained yet",
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
  process.stderr.write(`${found} lacks tlslite-ng of this checkout: ${usage}\n`);
  process.exit(2);
}

async function run(script: string): Promise<Outcome> {
  const options = optionsOf(script);
  const path = join(checkout, "scripts", `test-${script}.py`);
  const { stdout: out, stderr: err } = await runProcess(
    [python, path, "-h", "localhost", "-p", String(site.port), ...options],
    { env: { ...process.env, PYTHONPATH: checkout }, timeout: RUN_MS },
  );
  const count = (label: string): number => Number(new RegExp(`^${label}: +(\\d+)$`, "m").exec(out)?.[1] ?? "0");
  const said = new Map<string, number>();
  for (const [, text = ""] of `${out}\n${err}`.matchAll(/^(?:AssertionError|\w*Error): (.{1,200})/gm)) {
    const short = text
      .replaceAll(/0x[0-9a-f]+/g, "0x…")
      .replaceAll(/len=\d+/g, "len=…")
      .slice(0, 120);
    said.set(short, (said.get(short) ?? 0) + 1);
  }
  return { script, passed: count("PASS"), failed: count("FAIL"), said: count("FAIL") === 0 ? new Map() : said };
}

/** ECDHE in the place of RSA, and a suite that edge offers, where the script takes them. */
function optionsOf(script: string): string[] {
  const app = join(checkout, "tlsfuzzer", "_apps", `test_${script.replaceAll("-", "_")}.py`);
  const path = existsSync(app) ? app : join(checkout, "scripts", `test-${script}.py`);
  const text = readFileSync(path, "utf8");
  const options: string[] = [];
  if (/print\(" -d +neg/.test(text)) options.push("-d");
  if (/print\(" -C ciph/.test(text) && !script.startsWith("tls13")) options.push("-C", SUITE);
  return options;
}
