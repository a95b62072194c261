import { describe, expect, test } from "bun:test";
import type { CodecDone, CodecJob } from "../../../../src/features/transcode/codec-jobs.ts";
import type { CodecSourceOf } from "../../../../src/features/transcode/codec-source.ts";
import {
  CODEC_IDLE_MS,
  CODEC_LEFT_MS,
  CODEC_LIMIT_MS,
  CODEC_SHARE_MS,
  CODEC_THREAD_WAIT_MS,
  LargeMessages,
  MAX_CODEC_JOBS,
  MAX_CODEC_JOBS_OF_CLIENT,
  MAX_CODEC_THREADS,
  MAX_CODEC_THREADS_OF_CLIENT,
  type MessageOwner,
} from "../../../../src/features/transcode/large-messages.ts";

const OF = { schema: null, route: {} } as unknown as CodecSourceOf;
const BYTES = new Uint8Array();

/** A thread that does nothing until it is told to. */
class Thread {
  readonly jobs: CodecJob[] = [];
  isClosed = false;

  constructor(
    private readonly onDone: (done: CodecDone) => void,
    readonly die: () => void,
  ) {}

  post(job: CodecJob): void {
    this.jobs.push(job);
  }

  close(): void {
    this.isClosed = true;
  }

  finish(): void {
    this.onDone({ id: this.jobs.at(-1)!.id, ok: true, bytes: BYTES });
  }
}

class Site {
  nowMs = 0;
  look: (() => void) | null = null;
  readonly threads: Thread[] = [];
  /** The names of messages, in the order of their results, with `!` where they were refused. */
  readonly results: string[] = [];
  hasDescriptors = true;
  readonly large: LargeMessages = new LargeMessages({
    start: (onDone, onEnd) => {
      if (!this.hasDescriptors) return null;
      const thread = new Thread(onDone, onEnd);
      this.threads.push(thread);
      return thread;
    },
    nowMs: () => this.nowMs,
    watch: (look) => {
      this.look = look;
      return () => {
        this.look = null;
      };
    },
  });

  ask(owner: MessageOwner, name: string): MessageOwner {
    this.large.decode(owner, OF, BYTES, (result) => this.results.push(result.ok ? name : `${name}!`));
    return owner;
  }

  pass(ms: number): void {
    for (const end = this.nowMs + ms; this.nowMs < end; ) {
      this.nowMs += 50;
      this.look?.();
    }
  }

  /** Threads that have not been ended. */
  get open(): number {
    return this.threads.filter(({ isClosed }) => !isClosed).length;
  }
}

const client = (name: string, connection: object = {}): MessageOwner => ({ client: name, connection });

describe("large messages", () => {
  test("one thread is enough while none waits for long, and it is told of a codec once", () => {
    const site = new Site();
    for (let n = 0; n < 10; n++) {
      site.ask(client("a"), String(n));
      site.threads[0]!.finish();
    }
    expect(site.results.join("")).toBe("0123456789");
    expect(site.threads[0]!.jobs.map(({ recipe }) => recipe !== null)).toEqual([true, ...Array(9).fill(false)]);
    expect(site.threads.length).toBe(1);
    site.pass(50);
    expect(site.look).toBeNull();
  });

  test("a message of one client makes that of another wait for no longer than it takes to start a thread", () => {
    const site = new Site();
    for (let n = 0; n < 100; n++) site.ask(client("hostile"), `h${n}`);
    site.ask(client("other"), "other");
    site.pass(CODEC_THREAD_WAIT_MS);
    expect(site.threads.length).toBe(2);
    site.threads[1]!.finish();
    expect(site.results).toEqual(["other"]);
    // However long it goes on, one client has its part of the threads.
    site.pass(CODEC_SHARE_MS / 2);
    expect(site.threads.filter(({ jobs }) => jobs.length > 0).length).toBe(MAX_CODEC_THREADS_OF_CLIENT);
    site.ask(client("third"), "third");
    site.pass(CODEC_THREAD_WAIT_MS);
    expect(site.open).toBe(MAX_CODEC_THREADS_OF_CLIENT + 1);
    site.threads.at(-1)!.finish();
    expect(site.results).toEqual(["other", "third"]);
  });

  test("one connection has one thread", () => {
    const site = new Site();
    const owner = client("a");
    for (const name of ["1", "2", "3"]) site.ask({ ...owner }, name);
    site.pass(1000);
    expect(site.threads.filter(({ jobs }) => jobs.length > 0).length).toBe(1);
    for (const name of ["1", "12", "123"]) {
      site.threads.findLast(({ jobs }) => jobs.length === name.length || jobs.length > 0)!.finish();
      expect(site.results.join("")).toBe(name);
    }
  });

  test("where all threads are taken, what has taken its share is refused, and the next has a new thread", () => {
    const site = new Site();
    for (let n = 0; n < MAX_CODEC_THREADS; n++) site.ask(client(`client ${n}`), `held ${n}`);
    site.pass(MAX_CODEC_THREADS * CODEC_THREAD_WAIT_MS);
    expect([site.open, site.results]).toEqual([MAX_CODEC_THREADS, []]);
    site.ask(client("late"), "late");
    site.pass(CODEC_SHARE_MS);
    expect(site.results).toEqual(["held 0!"]);
    site.threads.at(-1)!.finish();
    expect(site.results).toEqual(["held 0!", "late"]);
  });

  test("none takes longer than the limit, and its thread is not given another", () => {
    const site = new Site();
    site.ask(client("a"), "endless");
    site.pass(CODEC_LIMIT_MS);
    expect(site.results).toEqual([]);
    site.pass(50);
    expect([site.results, site.open]).toEqual([["endless!"], 0]);
    // What a thread says that was ended is nobody's.
    site.threads[0]!.finish();
    site.ask(client("a"), "next");
    site.threads[1]!.finish();
    expect(site.results).toEqual(["endless!", "next"]);
  });

  test("ends with its client: what waits is dropped, what runs is ended", () => {
    const site = new Site();
    const owners = ["runs", "waits"].map((name) => site.ask(client("a"), name));
    for (const owner of owners) site.large.leave(owner);
    site.pass(CODEC_LEFT_MS + 50);
    expect([site.open, site.results]).toEqual([0, []]);
    site.pass(50);
    expect(site.look).toBeNull();
  });

  test("one that is done soon after its client has left costs no thread", () => {
    const site = new Site();
    site.large.leave(site.ask(client("a"), "runs"));
    site.threads[0]!.finish();
    site.ask(client("b"), "next");
    site.threads[0]!.finish();
    expect([site.threads.length, site.results]).toEqual([1, ["next"]]);
  });

  test("those of one client that wait are bounded, and so are all", async () => {
    const site = new Site();
    for (let n = 0; n < MAX_CODEC_JOBS_OF_CLIENT + 10; n++) site.ask(client("a"), "a");
    await Promise.resolve();
    // One has its thread.
    expect(site.results).toEqual(Array(9).fill("a!"));
    for (let n = 0; n < MAX_CODEC_JOBS; n++) site.ask(client(`client ${n}`), "b");
    await Promise.resolve();
    expect(site.results.filter((name) => name === "b!").length).toBe(MAX_CODEC_JOBS_OF_CLIENT);
  });

  test("a thread that dies costs its message alone; without descriptors all that wait are refused", async () => {
    const site = new Site();
    site.ask(client("a"), "dies");
    site.ask(client("b"), "lives");
    site.threads[0]!.die();
    site.threads[1]!.finish();
    expect(site.results).toEqual(["dies!", "lives"]);
    site.hasDescriptors = false;
    site.threads[1]!.die();
    site.ask(client("a"), "none");
    await Promise.resolve();
    expect(site.results.at(-1)).toBe("none!");
  });

  test("threads that have had no work for long are ended but for one, and with the configuration the last", () => {
    const site = new Site();
    for (const name of ["a", "b", "c"]) site.ask(client(name), name);
    site.pass(3 * CODEC_THREAD_WAIT_MS);
    for (const thread of site.threads) thread.finish();
    expect(site.open).toBe(3);
    site.pass(CODEC_IDLE_MS + 50);
    expect([site.open, site.look]).toEqual([1, null]);
    site.large.close();
    expect(site.open).toBe(0);
  });
});
