import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Clock } from "../../../../src/core/clock.ts";
import { FileCache } from "../../../../src/features/files/file-cache.ts";
import { FILE_RECHECK_MS, FileHandler, type FileMount } from "../../../../src/features/files/file-handler.ts";
import { OpenFiles } from "../../../../src/features/files/open-file.ts";
import { Exchange, ExchangeState, type IdleExchangePorts, Pipeline } from "../../../../src/message/exchange.ts";
import { headerIdFromName } from "../../../../src/message/header-block.ts";
import { methodFromName } from "../../../../src/message/request-head.ts";
import { canonicalise } from "../../../../src/proto/target/canonical-path.ts";
import { FakeSink } from "./fake-sink.ts";

/** 2026-06-01T12:00:00Z, when files are as old as the tests say and not newer. */
export const NOW_MS = Date.UTC(2026, 5, 1, 12);

export type Fields = Record<string, string> | readonly (readonly [string, string])[];

const DETACHED = {
  onBody: () => {},
  onBodyEnd: () => {},
  onBodyFault: () => {},
  onWritable: () => {},
  onCancelled: () => {},
  pauseBody: () => {},
  resumeBody: () => {},
};

/** A folder of files with one outside beside it, and the mounts that serve it. */
export class TestSite {
  /** What is served. */
  readonly dir: string;
  /** What is beside it and must never be. */
  readonly outside: string;
  readonly cache: FileCache = new FileCache(undefined, undefined, new OpenFiles((look) => this.looks.push(look)));
  /** Looks for files that nobody asks for any more, which are due some day. */
  private readonly looks: (() => void)[] = [];
  /** Callbacks that wait for their turn. */
  readonly deferred: (() => void)[] = [];
  nowMs = NOW_MS;
  readonly clock: Clock = new Clock(() => this.nowMs);
  private readonly top: string;

  constructor() {
    this.top = realpathSync(mkdtempSync(join(tmpdir(), "edge-files-")));
    chmodSync(this.top, 0o755);
    this.dir = join(this.top, "www");
    this.outside = join(this.top, "outside");
    mkdirSync(this.dir);
    mkdirSync(this.outside);
  }

  /** Writes a file below the served folder, an hour old unless told otherwise. */
  write(name: string, content: string | Buffer, ageS = 3600): string {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    utimesSync(path, NOW_MS / 1000 - ageS, NOW_MS / 1000 - ageS);
    return path;
  }

  /** Writes a file beside the served folder. */
  writeOutside(name: string, content: string): string {
    const path = join(this.outside, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Makes a symbolic link below the served folder. */
  link(name: string, target: string): void {
    const path = join(this.dir, name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(target, path);
  }

  mount(settings: Partial<FileMount> = {}): FileHandler {
    const defaults = {
      dir: this.dir,
      prefix: "/",
      spa: false,
      fallback: "",
      cacheControl: "",
      recheckMs: FILE_RECHECK_MS,
    };
    return new FileHandler(
      { ...defaults, ...settings },
      { cache: this.cache, clock: this.clock, defer: (resume) => this.deferred.push(resume) },
    );
  }

  /** Files of this site that stay open although nobody asks for them: none may be left behind. Always 0 where the system does not tell. */
  openFiles(): number {
    while (this.looks.length > 0) this.looks.pop()!();
    if (process.platform !== "linux") return 0;
    let open = 0;
    for (const fd of readdirSync("/proc/self/fd")) {
      try {
        if (readlinkSync(`/proc/self/fd/${fd}`).startsWith(this.top)) open++;
      } catch {
        // The descriptor that the directory was read with is closed by now.
      }
    }
    return open;
  }

  /** Lets time pass. */
  wait(ms: number): void {
    this.nowMs += ms;
    this.clock.update();
  }

  dispose(): void {
    rmSync(this.top, { recursive: true, force: true });
  }
}

/** An exchange as it reaches a handler, and the sink that records the answer. */
export interface Trial {
  readonly ex: Exchange;
  readonly sink: FakeSink;
}

/**
 * Makes an exchange for a request.
 * @param target in origin form; one character a byte
 * @param canonicalPath what routing would hand on; worked out from the target where it is not given
 */
export function trial(method: string, target: string, fields: Fields = {}, canonicalPath?: string): Trial {
  const sink = new FakeSink();
  const idle: IdleExchangePorts = {
    sink,
    flow: DETACHED,
    body: DETACHED,
    source: DETACHED,
    pipeline: new Pipeline([], [], []),
  };
  const ex = new Exchange(idle);
  const list = Array.isArray(fields) ? fields : Object.entries(fields);
  const lines = list.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const bytes = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, "latin1");
  const head = ex.request;
  head.reset(bytes);
  head.method = methodFromName(method);
  head.methodTo = method.length;
  head.targetFrom = head.pathFrom = method.length + 1;
  head.targetTo = head.queryTo = head.pathFrom + target.length;
  const query = target.indexOf("?");
  head.pathTo = query < 0 ? head.targetTo : head.pathFrom + query;
  let at = head.targetTo + " HTTP/1.1\r\n".length;
  for (const [name, value] of list) {
    const valueFrom = at + name.length + 2;
    head.headers.push(headerIdFromName(name), at, at + name.length, valueFrom, valueFrom + value.length);
    at = valueFrom + value.length + 2;
  }
  const path = bytes.latin1Slice(head.pathFrom, head.pathTo);
  const canonical = canonicalPath ?? canonicalise(path).canonical;
  ex.canonicalPath = canonical === path ? "" : canonical;
  ex.state = ExchangeState.Open;
  return { ex, sink };
}

/** Sends a request through a handler and gives what it answered. */
export function ask(handler: FileHandler, method: string, target: string, fields: Fields = {}): FakeSink {
  const { ex, sink } = trial(method, target, fields);
  handler.handle(ex);
  return sink;
}

/** GET. */
export function get(handler: FileHandler, target: string, fields: Fields = {}): FakeSink {
  return ask(handler, "GET", target, fields);
}
