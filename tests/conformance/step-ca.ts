import "reflect-metadata";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BasicConstraintsExtension } from "@peculiar/x509";
import { ServerProcess } from "../bench/server-process.ts";
import { daysFromNow, TestAuthority } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import type { NameServer } from "../harness/name-server.ts";

const VERSION = "v0.30.2";
const FOLDER = join(import.meta.dir, "..", "..", ".bun", "go-tools");
const BINARY = join(FOLDER, "step-ca");
/** Two minutes of CPU, and half a gigabyte of modules. */
const BUILD_MS = 900_000;

/** The program; built in the long lane alone, and kept. Null where it is not there, which is said in one line. */
export async function stepCa(): Promise<string | null> {
  if (existsSync(BINARY)) return BINARY;
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined || !IS_LONG) {
    console.log(
      `skipped: step-ca needs ${go === undefined ? "go (Debian: apt install golang)" : "scripts/test --long"}`,
    );
    return null;
  }
  const build = Bun.spawn(
    [go, "install", "-ldflags=-s -w", `github.com/smallstep/certificates/cmd/step-ca@${VERSION}`],
    {
      env: { ...process.env, GOBIN: FOLDER, CGO_ENABLED: "0", GOTOOLCHAIN: "local" },
      stdout: "ignore",
      stderr: "ignore",
      timeout: BUILD_MS,
    },
  );
  if ((await build.exited) === 0) return BINARY;
  console.log("skipped: the modules of step-ca cannot be had");
  return null;
}

/** Smallstep's authority, as people run it for their own networks: a root, an intermediate, and ACME. */
export class StepCa {
  readonly port: number = freePort();
  /** Where challenges are asked for. */
  readonly httpPort: number = freePort();
  readonly tlsPort: number = freePort();
  private process: ServerProcess | null = null;

  private constructor(readonly folder: string) {}

  /** Starts one. @param life of its certificates, as Go writes it; 5 minutes at least */
  static async start(binary: string, names: NameServer, life: string): Promise<StepCa> {
    const ca = new StepCa(mkdtempSync(join(tmpdir(), "edge-step-ca-")));
    const root = await TestAuthority.make("Step Root");
    const issuing = await root.issue({
      subject: "Step Intermediate",
      names: [],
      notBefore: daysFromNow(-1),
      notAfter: daysFromNow(1),
      extensions: [new BasicConstraintsExtension(true, 0, true)],
    });
    const put = (name: string, text: string): void => writeFileSync(join(ca.folder, name), text);
    put("root.pem", `${root.cert}\n`);
    put("issuing.pem", `${issuing.cert}\n`);
    put("issuing-key.pem", issuing.key);
    put("ca.json", JSON.stringify(ca.configuration(life)));
    const ports = ["--acme-http-port", String(ca.httpPort), "--acme-tls-port", String(ca.tlsPort), "--insecure"];
    const command = [binary, ...ports, "--resolver", names.address, join(ca.folder, "ca.json")];
    ca.process = new ServerProcess(command, ca.folder, join(ca.folder, "log"));
    await eventually(async () => {
      if (ca.process?.isAlive !== true) throw new Error(ca.process?.lastWords());
      await fetch(ca.directoryUrl, { tls: { rejectUnauthorized: false } });
    });
    return ca;
  }

  get directoryUrl(): string {
    return `https://localhost:${this.port}/acme/acme/directory`;
  }

  /** What its own HTTPS certificate leads to. */
  get caFile(): string {
    return join(this.folder, "root.pem");
  }

  lastWords(): string {
    return this.process?.lastWords() ?? "";
  }

  async stop(): Promise<void> {
    await this.process?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private configuration(life: string): object {
    const claims = { minTLSCertDuration: "1m", defaultTLSCertDuration: life, maxTLSCertDuration: life };
    return {
      root: join(this.folder, "root.pem"),
      crt: join(this.folder, "issuing.pem"),
      key: join(this.folder, "issuing-key.pem"),
      address: `127.0.0.1:${this.port}`,
      dnsNames: ["localhost"],
      logger: { format: "text" },
      db: { type: "badgerv2", dataSource: join(this.folder, "db") },
      authority: { provisioners: [{ type: "ACME", name: "acme", claims }], backdate: "1m" },
    };
  }
}
