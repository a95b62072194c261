import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

/** Where bind9's server is; null without it. */
export const NAMED: string | null = Bun.which("named", { PATH: `${process.env.PATH}:/usr/sbin` });
if (NAMED === null) console.log("skipped: DNS behind a udp stream needs named (Debian: apt install bind9)");

/** A name server of the test's own (bind9), with one zone `stream.test` of so many names. */
export class DnsServer {
  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** @param address what its names have */
  static async start(address: string, names: number): Promise<DnsServer> {
    const folder = mkdtempSync(join(tmpdir(), "edge-named-"));
    mkdirSync(join(folder, "cache"));
    const port = freePort();
    const hosts = Array.from({ length: names }, (_, i) => `n${i} A ${address}\n`).join("");
    writeFileSync(
      join(folder, "zone"),
      `$TTL 60\n@ SOA ns hostmaster 1 60 60 60 60\n@ NS ns\nns A 127.0.0.1\n${hosts}`,
    );
    writeFileSync(
      join(folder, "named.conf"),
      `options { directory "${folder}/cache"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none;
  session-keyfile none; dnssec-validation no; };
controls { };
zone "stream.test" { type master; file "${folder}/zone"; };
`,
    );
    const child = Bun.spawn([NAMED!, "-g", "-n", "1", "-c", join(folder, "named.conf")], {
      stdout: "ignore",
      stderr: "ignore",
    });
    process.on("exit", () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    const server = new DnsServer(port, folder, child);
    const { Resolver } = await import("node:dns/promises");
    await eventually(async () => {
      const resolver = new Resolver({ timeout: 500, tries: 1 });
      resolver.setServers([`127.0.0.1:${port}`]);
      await resolver.resolve4("n0.stream.test");
    });
    return server;
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}
