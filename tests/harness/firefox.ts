import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Where Firefox is; null without it. */
export const FIREFOX: string | null = Bun.which("firefox-esr") ?? Bun.which("firefox");

/** A Firefox without a window, whatever certificates it is shown, by WebDriver BiDi. */
export class Firefox {
  private readonly child: Bun.Subprocess<"ignore", "ignore", "pipe">;
  private readonly profile: string = mkdtempSync(join(tmpdir(), "edge-firefox-"));
  private readonly answers: Map<number, (reply: Reply) => void> = new Map();
  private socket: WebSocket | null = null;
  private calls = 0;

  private constructor() {
    const flags = ["--headless", "--no-remote", "--profile", this.profile, "--remote-debugging-port", "0"];
    const env = { ...process.env, HOME: this.profile };
    this.child = Bun.spawn([FIREFOX!, ...flags], { stdin: "ignore", stdout: "ignore", stderr: "pipe", env });
  }

  static async start(): Promise<Firefox> {
    const firefox = new Firefox();
    await firefox.open();
    return firefox;
  }

  /** Loads a page. @returns its text; "" if there was none */
  async browse(url: string): Promise<string> {
    const { result: tree } = await this.call("browsingContext.getTree", {});
    const { context } = (tree as { contexts: { context: string }[] }).contexts[0]!;
    await this.call("browsingContext.navigate", { context, url, wait: "complete" });
    const script = { expression: "document.body.innerText", target: { context }, awaitPromise: false };
    const { result } = await this.call("script.evaluate", script);
    return (result as { result: { value?: string } }).result.value ?? "";
  }

  stop(): void {
    this.socket?.close();
    this.child.kill("SIGKILL");
    rmSync(this.profile, { recursive: true, force: true });
  }

  private async open(): Promise<void> {
    let said = "";
    let place: string | undefined;
    for await (const part of this.child.stderr) {
      said += new TextDecoder().decode(part);
      place = /listening on (ws:\S+)/.exec(said)?.[1];
      if (place !== undefined) break;
    }
    const socket = new WebSocket(`${place}/session`);
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      const reply = JSON.parse(String(data)) as Reply;
      this.answers.get(reply.id)?.(reply);
    };
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    await this.call("session.new", { capabilities: { alwaysMatch: { acceptInsecureCerts: true } } });
  }

  private call(method: string, params: object): Promise<Reply> {
    const id = ++this.calls;
    this.socket!.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve) => this.answers.set(id, resolve));
  }
}

interface Reply {
  readonly id: number;
  /** Absent where it failed. */
  readonly result?: object;
}
