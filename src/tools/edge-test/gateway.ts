// Part of what `edge test` gives the runtime's test runner before the tests, put together by preload-bundle.ts.

/** How the gateway is started: what `edge test` tells the process of the tests. */
export interface TestRun {
  readonly command: readonly string[];
  /** "" for the usual places. */
  readonly config: string;
  readonly routes: string;
  readonly cwd: string;
}

export interface GatewayOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: string;
  readonly routes?: string;
}

type LogLine = Readonly<Record<string, unknown>>;

interface Waiter {
  fits(line: LogLine): boolean;
  found(line: LogLine): void;
}

/** A gateway for tests: `edge serve --local 0` as a process of its own. docs/functions.md#edge-test */
export class TestGateway {
  readonly log: LogLine[] = [];
  private readonly child: Bun.Subprocess<"pipe", "pipe", "pipe">;
  private readonly waiters: Set<Waiter> = new Set();
  private address = "";

  private constructor(run: TestRun, { env = {}, config = run.config, routes = run.routes }: GatewayOptions) {
    const files = [...(config === "" ? [] : ["--config", config]), ...(routes === "" ? [] : ["--routes", routes])];
    const [program, ...first] = run.command as [string, ...string[]];
    this.child = Bun.spawn(
      [program, ...first, "serve", "--local", "0", "--with-parent", "--log-format=json", ...files],
      {
        cwd: run.cwd,
        env: { ...process.env, ...env, BUN_BE_BUN: undefined, [RUN_VARIABLE]: undefined },
        stdin: "pipe",
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    void this.readLog();
  }

  /** Starts it and waits until it listens. @throws Error with what it has said, if it does not */
  static async start(run: TestRun, options: GatewayOptions = {}): Promise<TestGateway> {
    const gateway = new TestGateway(run, options);
    const said = new Response(gateway.child.stderr).text();
    const listening = gateway.line((line) => line.event === "listening");
    const ended = gateway.child.exited.then(async () => {
      throw new Error(`the gateway does not start:\n${await said}`);
    });
    // The end of a gateway that has served is no failure of a test.
    ended.catch(() => {});
    const line = await Promise.race([listening, ended]);
    gateway.address = `http://127.0.0.1:${line.port}`;
    return gateway;
  }

  get url(): string {
    return this.address;
  }

  async fetch(target: string | URL, init: RequestInit = {}): Promise<Response> {
    const url = new URL(target, this.address);
    const headers = new Headers(init.headers);
    if (url.origin !== this.address && !headers.has("Host")) headers.set("Host", url.host);
    return fetch(`${this.address}${url.pathname}${url.search}`, { redirect: "manual", ...init, headers });
  }

  logged(fits: (line: LogLine) => boolean): Promise<LogLine> {
    const ended = this.child.exited.then(() => {
      throw new Error("the gateway has ended without such a line in its log");
    });
    return Promise.race([this.line(fits), ended]);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    const late = setTimeout(() => this.child.kill("SIGKILL"), STOP_MS);
    await this.child.exited;
    clearTimeout(late);
  }

  private line(fits: (line: LogLine) => boolean): Promise<LogLine> {
    const there = this.log.find((line) => fits(line));
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve) => {
      const waiter = {
        fits,
        found: (line: LogLine) => {
          this.waiters.delete(waiter);
          resolve(line);
        },
      };
      this.waiters.add(waiter);
    });
  }

  private async readLog(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of this.child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      for (const line of lines) this.take(line);
    }
  }

  private take(text: string): void {
    if (!text.startsWith("{")) {
      // What a function writes to the console.
      console.log(text);
      return;
    }
    let line: LogLine;
    try {
      line = JSON.parse(text);
    } catch {
      return;
    }
    if (typeof line.stack === "string") console.error(line.stack);
    this.log.push(line);
    if (this.log.length > MAX_LINES) this.log.shift();
    for (const waiter of this.waiters) if (waiter.fits(line)) waiter.found(line);
  }
}

export const RUN_VARIABLE = "EDGE_FUNCTION_TESTS";
const MAX_LINES = 10_000;
const STOP_MS = 5000;
