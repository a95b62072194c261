import { messageOf } from "../../../../core/error-text.ts";
import { MAX_ROUTE_BYTES } from "../../../../core/route-name.ts";
import type { EtcdConfig } from "../../settings.ts";
import { BackOff } from "../live/back-off.ts";
import type { SourceWatch, WatchPorts } from "../live/source-kind.ts";
import { Compacted, EtcdClient, type EtcdValue, isSignInOver, TOO_LONG } from "./etcd-client.ts";

/** Follows the keys of a prefix: all of them when it begins, then changes. If the cluster goes away or says nonsense, the last values stay. */
export class EtcdWatch implements SourceWatch<EtcdValue> {
  excess = "";
  private readonly config: EtcdConfig;
  private readonly ports: WatchPorts;
  private readonly known: Map<string, string> = new Map();
  private chars = 0;
  private readonly stopped: AbortController = new AbortController();
  private readonly backOff: BackOff = new BackOff(this.stopped.signal);
  /** Which member is asked. */
  private turn = 0;

  /** @param before values of an earlier process */
  constructor(config: EtcdConfig, ports: WatchPorts, before: readonly EtcdValue[]) {
    this.config = config;
    this.ports = ports;
    for (const { key, text } of before) this.put(key, text);
  }

  /** In the order of their keys. */
  get items(): readonly EtcdValue[] {
    return [...this.known].map(([key, text]) => ({ key, text })).sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  async run(): Promise<void> {
    const { signal } = this.stopped;
    while (!signal.aborted) {
      const reason = await this.session(signal).catch((error: unknown) => error);
      if (signal.aborted) return;
      if (!(reason instanceof Compacted)) {
        this.turn++;
        this.ports.failed(messageOf(reason));
      }
      await this.backOff.wait();
    }
  }

  stop(): void {
    this.stopped.abort();
  }

  /** @throws why it has ended */
  private async session(signal: AbortSignal): Promise<never> {
    const endpoints = this.config.endpoints.length > 0 ? this.config.endpoints : [DEFAULT_ENDPOINT];
    const client = new EtcdClient(endpoints[this.turn % endpoints.length]!, this.config);
    await client.signIn(signal);
    const { revision, values, isCut } = await client.range(MAX_KEYS, signal);
    this.replace(values, isCut);
    this.ports.caughtUp();
    let at = revision;
    let isFresh = true;
    for (;;) {
      try {
        at = await client.watch(at, signal, (changes) => this.take(changes));
        this.backOff.reset();
        isFresh = false;
      } catch (error) {
        if (isFresh || !isSignInOver(error)) throw error;
        // A token of etcd lasts some minutes.
        await client.signIn(signal);
        isFresh = true;
      }
    }
  }

  private replace(values: ReadonlyMap<string, string>, isCut: boolean): void {
    let isOther = false;
    this.excess = "";
    for (const key of [...this.known.keys()]) if (!values.has(key)) isOther = this.remove(key) || isOther;
    for (const [key, text] of values) isOther = this.put(key, text) || isOther;
    if (isCut) this.excess = `more than ${MAX_KEYS} keys`;
    if (isOther) this.ports.changed();
  }

  private take(changes: (take: (key: string, text: string | null) => void) => void): void {
    let isOther = false;
    changes((key, text) => {
      isOther = (text === null ? this.remove(key) : this.put(key, text)) || isOther;
    });
    if (isOther) this.ports.changed();
  }

  /** @returns whether something is another one */
  private put(key: string, text: string): boolean {
    const before = this.known.get(key);
    if (before === text) return false;
    const kept = text.length > MAX_ROUTE_BYTES ? TOO_LONG : text;
    const chars = this.chars + kept.length - (before?.length ?? 0);
    if ((before === undefined && this.known.size >= MAX_KEYS) || chars > MAX_CHARS) {
      this.excess = `more than ${MAX_KEYS} keys, or than ${MAX_CHARS} characters of values`;
      return false;
    }
    this.chars = chars;
    this.known.set(key, kept);
    return before !== kept;
  }

  private remove(key: string): boolean {
    this.chars -= this.known.get(key)?.length ?? 0;
    return this.known.delete(key);
  }
}

const DEFAULT_ENDPOINT = "http://127.0.0.1:2379";
const MAX_KEYS = 10_000;
const MAX_CHARS = 33_554_432;
