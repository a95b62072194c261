import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { RawClient } from "./raw-client.ts";

/** Where nginx is; null without it. */
export const NGINX: string | null = Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin` });

/** An nginx of the test's own. */
export class NginxServer {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /**
   * Starts it and waits until it accepts.
   * @param http what is in its `http` section
   * @param ports on loopback, that it listens at
   */
  static async start(
    http: string,
    ports: readonly number[],
    files: Readonly<Record<string, string>> = {},
  ): Promise<NginxServer> {
    const folder = mkdtempSync(join(tmpdir(), "edge-nginx-"));
    mkdirSync(join(folder, "tmp"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (n) => `${n}_temp_path ${folder}/tmp/${n};`,
    );
    writeFileSync(
      join(folder, "nginx.conf"),
      `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http { access_log off; ${folders.join(" ")} ${http} }
`,
    );
    const child = Bun.spawn([NGINX!, "-p", folder, "-c", join(folder, "nginx.conf")], {
      stdout: "ignore",
      stderr: "ignore",
    });
    process.on("exit", () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    for (const port of ports) await eventually(async () => (await RawClient.connect(port)).close());
    return new NginxServer(folder, child);
  }

  stop(): void {
    this.child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
