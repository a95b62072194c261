import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startGateway } from "../../harness/gateway.ts";

/** A gateway with TLS as it is by default, for suites that judge it. */
export interface TlsSite {
  readonly port: number;
  /** Where its certificate is, which signs itself. */
  readonly authority: string;
  stop(): Promise<void>;
}

/** Starts a gateway with a certificate of RSA, as most scripts of the suites expect. */
export async function startTlsSite(): Promise<TlsSite> {
  const folder = mkdtempSync(join(tmpdir(), "edge-tls-suite-"));
  const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const made = Bun.spawnSync(
    [
      ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-keyout", key, "-out", cert],
      ...["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
    ],
    { stderr: "pipe" },
  );
  if (made.exitCode !== 0) throw new Error(`openssl: ${made.stderr.toString().slice(-300)}`);
  const port = freePort();
  const gateway = await startGateway({
    config: { server: { access_log: { enabled: false }, tls: { port, cert_file: "cert.pem", key_file: "key.pem" } } },
    routes: [{ type: "respond", prefix: "/", body: "ok" }],
    files: { "cert.pem": readFileSync(cert, "utf8"), "key.pem": readFileSync(key, "utf8") },
  });
  return {
    port,
    authority: cert,
    stop: async () => {
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
