import { readFileSync, statSync } from "node:fs";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { withoutCredentials } from "../../../core/secret-name.ts";
import { stampOf } from "../../../memory/list-file.ts";
import { FileWatch } from "../../../net/file-watch.ts";
import { outboundRequest } from "../../../net/outbound-request.ts";
import type { BAN_EVENTS } from "../events.ts";
import { type Decisions, type FeedContent, MAX_NETWORKS, readDecisions, readNetworks } from "../feed-text.ts";
import { type Intervals, merged, NO_INTERVALS, shareFault, sizeOf, withoutLoopback } from "../network-table.ts";
import type { BansConfig, FeedConfig } from "../settings.ts";

/** Largest list, in bytes. */
const MAX_FEED_BYTES = 67_108_864;
/** For a whole response. */
const FETCH_MS = 60_000;

/** A list as operators see it. */
export interface FeedState {
  /** Its file, or its URL without credentials. */
  readonly feed: string;
  readonly networks: number;
  readonly skipped: number;
  /** The time of the content in use; null for none. */
  readonly taken_at: string | null;
  /** Why the one before stays; null for none. */
  readonly error: string | null;
}

/** The parts of the control thread that the feeds need. */
interface FeedPorts {
  readonly event: EventWriter<typeof BAN_EVENTS>;
  /** The networks of all feeds are others. */
  changed(): void;
}

/** The lists of one configuration: a list that cannot be used leaves the one before in use. docs/bans.md#feeds */
export class BanFeeds {
  private readonly ports: FeedPorts;
  private readonly watch: FileWatch = new FileWatch(() => {
    for (const feed of this.feeds) if (feed.config.file !== "") void feed.look();
  });
  private feeds: readonly Feed[] = [];

  constructor(ports: FeedPorts) {
    this.ports = ports;
  }

  /** Takes up a configuration; lists that stay keep their content. @returns when the files are read */
  async use({ enabled, feeds, maxShare }: BansConfig): Promise<void> {
    const before = [...this.feeds];
    const room = (asking: Feed): number =>
      MAX_NETWORKS - this.feeds.reduce((sum, feed) => sum + (feed === asking ? 0 : sizeOf(feed.intervals)), 0);
    this.feeds = (enabled ? feeds : []).map((config) => {
      const known = before.findIndex((one) => Bun.deepEquals(one.config, config) && one.maxShare === maxShare);
      return known >= 0 ? before.splice(known, 1)[0]! : new Feed(config, maxShare, room, this.ports);
    });
    for (const gone of before) gone.stop();
    this.watch.use(this.feeds.map(({ config }) => config.file));
    const added = this.feeds.filter((feed) => feed.begin());
    await Promise.all(added.filter(({ config }) => config.file !== "").map((feed) => feed.look()));
    if (added.length === 0 || before.length > 0) this.ports.changed();
  }

  get intervals(): readonly Intervals[] {
    return this.feeds.map((feed) => feed.intervals);
  }

  states(): readonly FeedState[] {
    return this.feeds.map((feed) => feed.state());
  }

  failures(): readonly { readonly label: string; readonly count: number }[] {
    return this.feeds.map((feed) => ({ label: feed.name, count: feed.failures }));
  }

  stop(): void {
    this.watch.stop();
    for (const feed of this.feeds) feed.stop();
  }
}

/** One list. */
class Feed {
  readonly config: FeedConfig;
  readonly maxShare: number;
  readonly name: string;
  /** In use, merged. */
  intervals: Intervals = NO_INTERVALS;
  failures = 0;
  private readonly room: (asking: Feed) => number;
  private readonly ports: FeedPorts;
  private decisions: Decisions = new Map();
  private timer: Timer | null = null;
  private isBusy = false;
  private isStopped = false;
  private skipped = 0;
  private takenAt: string | null = null;
  private error = "";
  /** Of the file that was read last, in use or refused. */
  private stamp = "";
  /** Of the last response. */
  private validators: Record<string, string> = {};

  constructor(config: FeedConfig, maxShare: number, room: (asking: Feed) => number, ports: FeedPorts) {
    this.config = config;
    this.maxShare = maxShare;
    this.name = config.file === "" ? withoutCredentials(config.url) : config.file;
    this.room = room;
    this.ports = ports;
  }

  /** Looks at it from now on. @returns whether it did not so far */
  begin(): boolean {
    if (this.timer !== null) return false;
    this.timer = setInterval(() => void this.look(), this.config.pollMs);
    if (this.config.file === "") void this.look();
    return true;
  }

  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearInterval(this.timer);
  }

  state(): FeedState {
    const { name: feed, skipped, takenAt, error } = this;
    return { feed, networks: sizeOf(this.intervals), skipped, taken_at: takenAt, error: error === "" ? null : error };
  }

  /** One look at a time: a list that takes longer than the time between two looks is not asked for twice. */
  async look(): Promise<void> {
    if (this.isBusy || this.isStopped) return;
    this.isBusy = true;
    try {
      const bytes = this.config.file === "" ? await this.fetch() : this.read();
      if (bytes !== null) await this.take(bytes);
      else if (this.decisions.size > 0) await this.expire();
    } catch (error) {
      this.failed(messageOf(error));
    } finally {
      this.isBusy = false;
    }
  }

  /** @returns null for an unchanged file */
  private read(): Uint8Array | null {
    const { file } = this.config;
    const stamp = stampOf(file);
    if (stamp === this.stamp) return null;
    this.stamp = stamp;
    if (stamp === "") throw new Error("no such file");
    const { size } = statSync(file);
    if (size > MAX_FEED_BYTES) throw new Error(`it is larger than ${MAX_FEED_BYTES / 1_048_576} MiB`);
    return readFileSync(file);
  }

  /** @returns null for unchanged content */
  private async fetch(): Promise<Uint8Array | null> {
    const { url, key } = this.config;
    const headers = { ...this.validators, ...(key === "" ? {} : { "X-Api-Key": key }) };
    const response = await outboundRequest({ url, headers, ca: "", timeoutMs: FETCH_MS, maxBytes: MAX_FEED_BYTES });
    if (response.status === 304) {
      return null;
    }
    if (response.status !== 200) throw new Error(`the server answered ${response.status}`);
    const validators: Record<string, string> = {};
    const [etag, modified] = [response.headers.get("etag"), response.headers.get("last-modified")];
    if (etag !== null) validators["If-None-Match"] = etag;
    else if (modified !== null) validators["If-Modified-Since"] = modified;
    this.validators = validators;
    return response.body;
  }

  private async take(bytes: Uint8Array): Promise<void> {
    const content = await this.parsed(bytes);
    const intervals = merged([content.intervals]);
    const fault = shareFault(intervals, this.maxShare);
    if (fault !== "") throw new Error(fault);
    const kept = withoutLoopback(intervals);
    if (sizeOf(kept) > this.room(this)) throw new Error(`all feeds together have more than ${MAX_NETWORKS} networks`);
    if (this.isStopped) return;
    const isSame = this.takenAt !== null && this.error === "" && Bun.deepEquals(kept, this.intervals);
    if ("decisions" in content) this.decisions = (content as { readonly decisions: Decisions }).decisions;
    this.intervals = kept;
    this.skipped = content.skipped;
    this.takenAt = new Date().toISOString();
    this.error = "";
    if (isSame) return;
    const { name: feed, skipped } = this;
    this.ports.event("ban_feed", { ok: true, feed, networks: sizeOf(kept), ...(skipped > 0 ? { skipped } : {}) });
    this.ports.changed();
  }

  /** Decisions that have ended leave. */
  private async expire(): Promise<void> {
    const nowMs = Date.now();
    if ([...this.decisions.values()].every((until) => until > nowMs)) return;
    await this.take(Buffer.from('{"new":[],"deleted":[]}'));
  }

  private async parsed(bytes: Uint8Array): Promise<FeedContent> {
    const steps =
      this.config.format === "crowdsec" ? readDecisions(bytes, this.decisions, Date.now()) : readNetworks(bytes);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  private failed(error: string): void {
    this.failures++;
    if (error === this.error || this.isStopped) return;
    this.error = error;
    this.ports.event("ban_feed", { ok: false, feed: this.name, error });
  }
}
