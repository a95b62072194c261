// What is done to the gateway in the run of everything, by the clock.

import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, EDGE_BINARY, type Gateway } from "../harness/gateway.ts";
import type { NameServer } from "../harness/name-server.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { isGone } from "../harness/run-process.ts";
import type { SmallDisk } from "../harness/small-disk.ts";
import type { ChaosOrigin } from "./chaos-origins.ts";

const RELOAD_MS = 5000;
const UPGRADE_PATIENCE_MS = 35_000;
const MAX_DISK_FULL_MS = 10_000;
/** The gateway looks once a second what is free, and the machine is busy. */
const DISK_LOOK_MS = 2000;
const MOVES = 8;
/** For so long a name may lead to where nothing is any more: its time to live. docs/operations.md#names */
const NAME_MS = 1000;

/** A time in which something was away. */
export interface Window {
  readonly what: "worker" | "disk" | "name";
  readonly fromMs: number;
  toMs: number;
}

/** The builds that replace each other, at one path. */
export class Builds {
  private readonly folder: string = mkdtempSync(join(tmpdir(), "edge-everything-"));
  readonly path: string = join(this.folder, "edge");
  private readonly builds = [binaryWithHooks(), EDGE_BINARY];
  private installed = 0;

  constructor() {
    this.install();
  }

  /** Puts the next build to the path, whole. */
  install(): void {
    mkdirSync(this.folder, { recursive: true });
    copyFileSync(this.builds[this.installed++ % this.builds.length]!, `${this.path}.new`);
    renameSync(`${this.path}.new`, this.path);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The gateway's processes, one after the other, and what is done to them. */
export class Trouble {
  readonly pids: number[];
  readonly windows: Window[] = [];
  moves = 0;
  reloads = 0;
  /** What should have happened and did not. */
  readonly wrong: string[] = [];
  private readonly startedMs = performance.now();

  constructor(
    private readonly gateway: Gateway,
    private readonly builds: Builds,
    private readonly disk: SmallDisk,
    private readonly durationMs: number,
  ) {
    this.pids = [gateway.pid];
  }

  private get pid(): number {
    return this.pids.at(-1)!;
  }

  /** All of it, in order; the first build has the hooks. */
  async run(): Promise<void> {
    await this.until(0.06);
    await this.crash();
    await this.until(0.1);
    await this.freeze();
    await this.until(0.45);
    await this.upgrade();
    await this.until(0.5);
    await this.fillDisk();
    await this.until(0.7);
    await this.upgrade();
    await this.until(0.85);
    await this.upgrade();
  }

  /** Reloads, each time with another route more or less. */
  async keepReloading(isOver: () => boolean): Promise<void> {
    const path = join(this.gateway.folder, "routes.yaml");
    const routes = parse(readFileSync(path, "utf8")) as unknown[];
    while (!isOver()) {
      await Bun.sleep(RELOAD_MS);
      const extra = { type: "static", prefix: `/extra-${++this.reloads}`, dir: "site" };
      writeFileSync(`${path}.new`, stringify([...routes, extra]));
      renameSync(`${path}.new`, path);
      process.kill(this.pid, "SIGHUP");
    }
  }

  /** Moves a name to the other of two addresses; the old one dies at once. */
  async keepMoving(
    names: NameServer,
    name: string,
    startAt: (address: string) => ChaosOrigin,
    isOver: () => boolean,
  ): Promise<void> {
    let current = startAt("127.0.0.2");
    names.zones.set(name, { addresses: ["127.0.0.2"], ttl: 1 });
    await current.untilUp();
    while (!isOver()) {
      await Bun.sleep(this.durationMs / MOVES);
      const address = this.moves % 2 === 0 ? "127.0.0.3" : "127.0.0.2";
      const next = startAt(address);
      await next.untilUp();
      names.zones.set(name, { addresses: [address], ttl: 1 });
      current.end();
      this.windows.push({ what: "name", fromMs: performance.now(), toMs: performance.now() + NAME_MS });
      current = next;
      this.moves++;
    }
    current.end();
  }

  /** Ends the last process and sees that all are gone. */
  async end(): Promise<void> {
    process.kill(this.pid, "SIGTERM");
    for (const pid of this.pids) {
      await eventually(() => {
        if (!isGone(pid)) throw new Error(`process ${pid} does not end`);
      }).catch((error) => this.wrong.push(String(error)));
      if (!isGone(pid)) process.kill(pid, "SIGKILL");
    }
  }

  private until(share: number): Promise<void> {
    return Bun.sleep(Math.max(0, this.startedMs + share * this.durationMs - performance.now()));
  }

  private async crash(): Promise<void> {
    await this.loseWorker("crash", 10_000);
  }

  private async freeze(): Promise<void> {
    await this.loseWorker("freeze", 30_000);
  }

  private async loseWorker(hook: string, patienceMs: number): Promise<void> {
    const seen = this.gateway.logs.json.length;
    const window: Window = { what: "worker", fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
    this.windows.push(window);
    const client = await RawClient.connect(this.gateway.port);
    client.send(request(`GET /__test/${hook}`));
    const isDeath = (line: { event?: unknown }): boolean =>
      line.event === "worker_died" && this.gateway.logs.json.indexOf(line) >= seen;
    await this.gateway.logs
      .until(`the end of the worker: ${hook}`, isDeath, patienceMs)
      .catch((error) => this.wrong.push(String(error)));
    client.close();
    // What it had is told of its end by now; the next one begins.
    window.toMs = performance.now() + 1000;
  }

  private async upgrade(): Promise<void> {
    this.builds.install();
    const isNew = (line: { event?: unknown; pid?: unknown }): boolean =>
      line.event === "listening" && !this.pids.includes(line.pid as number);
    process.kill(this.pid, "SIGUSR2");
    try {
      const line = await this.gateway.logs.until("the successor listens", isNew, UPGRADE_PATIENCE_MS);
      this.pids.push(line.pid as number);
    } catch (error) {
      this.wrong.push(String(error));
    }
  }

  private async fillDisk(): Promise<void> {
    const window: Window = { what: "disk", fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
    this.windows.push(window);
    this.disk.fill();
    await Bun.sleep(Math.min(MAX_DISK_FULL_MS, this.durationMs * 0.12));
    this.disk.empty();
    window.toMs = performance.now() + DISK_LOOK_MS;
  }
}
