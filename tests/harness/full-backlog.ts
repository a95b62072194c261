import { RawClient } from "./raw-client.ts";

const LISTENER = `
const server = require("node:net").createServer(() => {});
server.listen({ host: process.argv.at(-1), port: 0, backlog: 1, reusePort: true }, () => {
  console.log(server.address().port);
  process.kill(process.pid, "SIGSTOP");
});
`;

/** A loopback port whose listener accepts nobody: once its queue is full, a connect neither succeeds nor fails. */
export class FullBacklog {
  private readonly fillers: RawClient[] = [];

  private constructor(
    readonly port: number,
    private readonly child: Bun.Subprocess,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /**
   * Starts it; null where the queue does not fill up, as on systems other than Linux.
   * @param host all addresses of loopback with 0.0.0.0, but for those at which another listener shares the port afterwards
   */
  static async start(host: "127.0.0.1" | "0.0.0.0" = "127.0.0.1"): Promise<FullBacklog | null> {
    const child = Bun.spawn([process.execPath, "-e", LISTENER, host], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
    });
    const { value } = await child.stdout.getReader().read();
    const full = new FullBacklog(Number(new TextDecoder().decode(value).trim()), child);
    for (let i = 0; i < MAX_FILLERS; i++) {
      if (!(await full.takesAnother())) return full;
    }
    full.stop();
    return null;
  }

  /** Whether one more connect succeeds. This process may stand still meanwhile: it looks again and again. */
  private async takesAnother(): Promise<boolean> {
    let filler: RawClient | null = null;
    void RawClient.connect(this.port).then(
      (client) => {
        filler = client;
        this.fillers.push(client);
      },
      () => {},
    );
    for (let look = 0; look < LOOKS && filler === null; look++) await Bun.sleep(LOOK_MS);
    return filler !== null;
  }

  stop(): void {
    for (const filler of this.fillers) filler.reset();
    this.child.kill("SIGKILL");
  }
}

const MAX_FILLERS = 1024;
const LOOKS = 50;
const LOOK_MS = 5;
