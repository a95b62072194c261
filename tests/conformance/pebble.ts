import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ServerProcess } from "../bench/server-process.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort } from "../harness/gateway.ts";

/** Whether the authority and its name server are installed (Debian: apt install pebble). */
export const hasPebble: boolean = Bun.which("pebble") !== null && Bun.which("pebble-challtestsrv") !== null;

/** How an authority is to be. */
export interface PebbleOptions {
  /** Seconds that certificates are good for. */
  readonly validity?: number;
  /** Keys of external accounts by their id; with them, every account needs one. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
  /** Who is asked for names in place of the test's own name server. */
  readonly nameServer?: string;
}

/** Nonces that are refused although they are good, in percent: clients must try again. */
const REFUSED_NONCES = 20;

/** Let's Encrypt's test authority, with a name server that gives 127.0.0.1 for every name. */
export class Pebble {
  readonly port: number = freePort();
  /** Where challenges are asked for. */
  readonly httpPort: number = freePort();
  readonly tlsPort: number = freePort();
  readonly #managementPort: number = freePort();
  readonly #namesPort: number = freePort();
  readonly #namesManagementPort: number = freePort();
  private names: ServerProcess | null = null;
  private authority: ServerProcess | null = null;
  private log = "";

  private constructor(
    readonly folder: string,
    private readonly options: PebbleOptions,
  ) {}

  static async start(options: PebbleOptions = {}): Promise<Pebble> {
    const folder = mkdtempSync(join(tmpdir(), "edge-pebble-"));
    const pebble = new Pebble(folder, options);
    const { cert, key } = await makeCertificate();
    writeFileSync(join(folder, "cert.pem"), `${cert}\n`);
    writeFileSync(join(folder, "key.pem"), key);
    writeFileSync(join(folder, "pebble.json"), pebble.configuration());
    await pebble.resume();
    return pebble;
  }

  get directoryUrl(): string {
    return `https://localhost:${this.port}/dir`;
  }

  /** The name server that the authority asks. */
  get nameServer(): string {
    return `127.0.0.1:${this.#namesPort}`;
  }

  /** Where records are put into that name server: POST to /set-txt and /clear-txt. */
  get records(): string {
    return `http://127.0.0.1:${this.#namesManagementPort}`;
  }

  /** What its own HTTPS certificate is signed with. */
  get caFile(): string {
    return join(this.folder, "cert.pem");
  }

  /** New orders so far, over all its lives. */
  get orders(): number {
    return `${this.log}${this.output()}`.split("POST /order-plz").length - 1;
  }

  /** Of these, the orders that it took: requests with a nonce that it refused are none. */
  get placed(): number {
    return `${this.log}${this.output()}`.split("Added order ").length - 1;
  }

  /** The root of the certificates that it issues now, PEM. */
  async root(): Promise<string> {
    const reply = await fetch(`https://localhost:${this.#managementPort}/roots/0`, {
      tls: { rejectUnauthorized: false },
    });
    return reply.text();
  }

  /** Gives another address for a name; "" gives back that of all others. */
  async point(host: string, address: string): Promise<void> {
    const [path, addresses] = address === "" ? ["clear-a", []] : ["add-a", [address]];
    const body = JSON.stringify({ host: `${host}.`, addresses });
    await fetch(`http://127.0.0.1:${this.#namesManagementPort}/${path}`, { method: "POST", body });
  }

  /** Freezes the authority (SIGSTOP), or has it go on (SIGCONT). */
  signal(name: "SIGSTOP" | "SIGCONT"): void {
    for (const pid of this.authority?.pids ?? []) process.kill(pid, name);
  }

  /** Ends the authority; all that it knew is gone with it. */
  async pause(): Promise<void> {
    await this.authority?.stop();
    this.log += this.output();
    this.authority = null;
  }

  /** Starts it again. */
  async resume(): Promise<void> {
    const { folder } = this;
    this.names ??= new ServerProcess(this.namesCommand(), folder, join(folder, "names.log"));
    const env = ["PEBBLE_VA_NOSLEEP=1", `PEBBLE_WFE_NONCEREJECT=${REFUSED_NONCES}`, "PEBBLE_AUTHZREUSE=0"];
    const command = [
      "env",
      ...env,
      "pebble",
      "-config",
      "pebble.json",
      "-dnsserver",
      this.options.nameServer ?? this.nameServer,
    ];
    this.authority = new ServerProcess(command, folder, join(folder, "pebble.log"));
    await eventually(async () => {
      await fetch(this.directoryUrl, { tls: { rejectUnauthorized: false } });
      await fetch(`http://127.0.0.1:${this.#namesManagementPort}/`);
    });
  }

  async stop(): Promise<void> {
    await this.authority?.stop();
    await this.names?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private output(): string {
    return this.authority === null ? "" : readFileSync(join(this.folder, "pebble.log"), "utf8");
  }

  private namesCommand(): string[] {
    const off = ["-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""];
    const dns = ["-dns01", `127.0.0.1:${this.#namesPort}`, "-defaultIPv4", "127.0.0.1"];
    return ["pebble-challtestsrv", ...off, ...dns, "-management", `127.0.0.1:${this.#namesManagementPort}`];
  }

  private configuration(): string {
    const { validity, externalAccounts } = this.options;
    const pebble = {
      listenAddress: `127.0.0.1:${this.port}`,
      managementListenAddress: `127.0.0.1:${this.#managementPort}`,
      certificate: "cert.pem",
      privateKey: "key.pem",
      httpPort: this.httpPort,
      tlsPort: this.tlsPort,
      ...(validity === undefined ? {} : { certificateValidityPeriod: validity }),
      externalAccountBindingRequired: externalAccounts !== undefined,
      ...(externalAccounts === undefined ? {} : { externalAccountMACKeys: externalAccounts }),
    };
    return JSON.stringify({ pebble });
  }
}
