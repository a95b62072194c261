import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A self-signed server certificate with its key, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for these names; null, with one line that says so, where there is no openssl command. */
export function makeCertificate(names: readonly string[] = ["DNS:localhost", "IP:127.0.0.1"]): TestCertificate | null {
  const openssl = Bun.which("openssl");
  if (openssl === null) {
    console.log("skipped: TLS tests need the openssl command (Debian: apt install openssl)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-cert-"));
  try {
    const [keyFile, certFile] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const run = Bun.spawnSync([
      openssl,
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test".split(" "),
      "-addext",
      `subjectAltName=${names.join(",")}`,
      "-keyout",
      keyFile,
      "-out",
      certFile,
    ]);
    if (run.exitCode !== 0) throw new Error(`openssl: ${run.stderr.toString()}`);
    return { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
