import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { BROWSER_FLAGS } from "./browser-flags.ts";

/** Debian's Chromium; null where it is not installed. */
export const CHROMIUM: string | null = Bun.which("chromium");

/** What a page says that can be told in JSON. */
type Told = Readonly<Record<string, unknown>>;

/** A node of the accessibility tree, as assistive technology gets it. */
export interface AccessibleNode {
  readonly role: string;
  readonly name: string;
  readonly value: string;
}

/** One tab of a headless Chromium, driven by the DevTools protocol. */
export class BrowserTab {
  /** Texts of the console, errors and violations of a Content-Security-Policy among them. */
  readonly console: string[] = [];
  private nextId = 1;
  private readonly waiting: Map<number, (reply: { result?: Told; error?: { message: string } }) => void> = new Map();

  private constructor(
    private readonly process: Bun.Subprocess,
    private readonly profile: string,
    private readonly socket: WebSocket,
  ) {
    socket.onmessage = ({ data }) => this.receive(JSON.parse(String(data)));
  }

  /** Starts a browser with an empty profile. @param flags beyond BROWSER_FLAGS */
  static async open(flags: readonly string[] = []): Promise<BrowserTab> {
    const profile = mkdtempSync(join(tmpdir(), "edge-tab-"));
    const process = Bun.spawn({
      cmd: [CHROMIUM!, ...BROWSER_FLAGS, "--disable-quic", `--user-data-dir=${profile}`, ...flags, "about:blank"],
      stdio: ["ignore", "ignore", "ignore"],
    });
    const file = join(profile, "DevToolsActivePort");
    const port = await eventually(() => /^\d+\n/.exec(readFileSync(file, "utf8"))![0].trim(), 30_000);
    const listed = await fetch(`http://127.0.0.1:${port}/json/list`);
    const pages = (await listed.json()) as { type: string; webSocketDebuggerUrl: string }[];
    const socket = new WebSocket(pages.find(({ type }) => type === "page")!.webSocketDebuggerUrl);
    await new Promise((resolve) => socket.addEventListener("open", resolve, { once: true }));
    const tab = new BrowserTab(process, profile, socket);
    for (const domain of ["Page", "Runtime", "Log", "Accessibility"]) await tab.call(`${domain}.enable`);
    return tab;
  }

  /** Calls a method of the protocol. */
  call(method: string, params: Told = {}): Promise<Told> {
    const id = this.nextId++;
    this.socket.send(JSON.stringify({ id, method, params }));
    return new Promise((resolve, reject) => {
      this.waiting.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result ?? {})));
    });
  }

  /** Goes to an address; what the page loads comes later. */
  async go(url: string): Promise<void> {
    await this.call("Page.navigate", { url });
  }

  /** The value of an expression in the page; a promise is waited for. */
  async value<T>(expression: string): Promise<T> {
    const reply = await this.call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    return (reply.result as { value: T }).value;
  }

  /** Waits until an expression is true in the page, whatever pages come and go meanwhile. */
  async until(expression: string, patienceMs = 20_000): Promise<void> {
    await eventually(async () => {
      if (!(await this.value<boolean>(`Boolean(${expression})`))) throw new Error(`never true: ${expression}`);
    }, patienceMs);
  }

  /** What assistive technology finds in the page, without what it passes over. */
  async accessible(): Promise<AccessibleNode[]> {
    const { nodes } = (await this.call("Accessibility.getFullAXTree")) as {
      nodes: { ignored: boolean; role?: Word; name?: Word; value?: Word }[];
    };
    const text = (word?: Word) => String(word?.value ?? "");
    return nodes
      .filter(({ ignored }) => !ignored)
      .map(({ role, name, value }) => ({ role: text(role), name: text(name), value: text(value) }));
  }

  /** The page as PNG. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.call("Page.captureScreenshot", { format: "png" });
    return Buffer.from(String(data), "base64");
  }

  async close(): Promise<void> {
    this.socket.close();
    this.process.kill("SIGKILL");
    await this.process.exited;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }

  private receive(message: { id?: number; method?: string; params?: Told; result?: Told }): void {
    if (message.id !== undefined) {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    } else if (message.method === "Runtime.exceptionThrown" || message.method === "Log.entryAdded") {
      this.console.push(JSON.stringify(message.params));
    }
  }
}

interface Word {
  readonly value?: unknown;
}
