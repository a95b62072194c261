import { spreadWait } from "../../../../core/spread-wait.ts";
import { isObject } from "../../../../core/value-kind.ts";
import type { EtcdConfig } from "../../settings.ts";
import { textOf } from "../docker/engine.ts";
import { StoreClient, StoreRefusal } from "../live/store-client.ts";

/** A key with its value, as far as routes ask. */
export interface EtcdValue {
  readonly key: string;
  /** TOO_LONG in place of a text that is no route's. */
  readonly text: string;
}

/** No value of a key: those are UTF-8. */
export const TOO_LONG = "\ud800";

/** All keys of a prefix at one revision. */
interface EtcdRange {
  readonly revision: bigint;
  readonly values: ReadonlyMap<string, string>;
  /** Whether there are more. */
  readonly isCut: boolean;
}

/** A change of a key. @param text null if it is gone */
type Take = (key: string, text: string | null) => void;

/** The revision from which a watch was to begin is gone: only a new range tells how things are. */
export class Compacted extends Error {}

/** A member of a cluster of etcd, by its JSON gateway. */
export class EtcdClient {
  private readonly client: StoreClient;
  private readonly config: EtcdConfig;
  private token = "";

  /** @throws Error if a file of the certificates cannot be read */
  constructor(endpoint: string, config: EtcdConfig) {
    this.client = new StoreClient(endpoint, config.tls);
    this.config = config;
  }

  /** @throws why it cannot be had */
  async signIn(signal: AbortSignal): Promise<void> {
    const { user: name, password } = this.config;
    if (name === "") return;
    const body = { name, password };
    const question = { path: "/v3/auth/authenticate", body, headers: {}, timeoutMs: PATIENCE_MS, signal };
    const { document } = await this.client.ask(question, MAX_SMALL_BYTES);
    this.token = isObject(document) ? textOf(document.token) : "";
    if (this.token === "") throw new Error("/v3/auth/authenticate: the response has no token");
  }

  /** All keys of the prefix, page by page, at one revision. @throws why it cannot be had */
  async range(maxKeys: number, signal: AbortSignal): Promise<EtcdRange> {
    const values = new Map<string, string>();
    const end = base64(prefixEnd(Buffer.from(this.config.prefix)));
    let from = Buffer.from(this.config.prefix);
    let revision = 0n;
    for (;;) {
      const body = {
        key: base64(from),
        range_end: end,
        limit: String(PAGE),
        ...(revision === 0n ? {} : { revision: String(revision) }),
      };
      const question = { path: "/v3/kv/range", body, headers: this.headers(), timeoutMs: PATIENCE_MS, signal };
      const { document } = await this.client.ask(question, MAX_PAGE_BYTES);
      if (!isObject(document) || !isObject(document.header))
        throw new Error("/v3/kv/range: the response has no header");
      if (revision === 0n) revision = revisionOf(document.header.revision, "/v3/kv/range");
      const found = listOf(document.kvs);
      for (const one of found) {
        const key = textIn(one.key);
        if (key !== null && values.size < maxKeys) values.set(key, valueIn(one.value));
      }
      const last = found.at(-1);
      if (document.more !== true || last === undefined) return { revision, values, isCut: false };
      if (values.size >= maxKeys) return { revision, values, isCut: true };
      // The next key there can be.
      const next = Buffer.concat([Buffer.from(textOf(last.key), "base64"), Buffer.of(0)]);
      if (Buffer.compare(next, from) <= 0) throw new Error("/v3/kv/range: the pages do not go on");
      from = next;
    }
  }

  /**
   * Takes changes after a revision as they come, until the connection has been silent for a while.
   * @param onChanges gets all that came together, and the revision that they lead to
   * @returns the last revision
   * @throws Compacted, or why it has ended
   */
  async watch(after: bigint, signal: AbortSignal, onChanges: (changes: (take: Take) => void) => void): Promise<bigint> {
    const key = Buffer.from(this.config.prefix);
    const body = {
      create_request: {
        key: base64(key),
        range_end: base64(prefixEnd(key)),
        start_revision: String(after + 1n),
        fragment: true,
      },
    };
    let last = after;
    const quiet = new AbortController();
    const timer = setTimeout(() => quiet.abort(), spreadWait(RENEW_MS, 0.2));
    const question = { path: "/v3/watch", body, headers: this.headers(), timeoutMs: PATIENCE_MS };
    try {
      const whole = AbortSignal.any([signal, quiet.signal]);
      await this.client.follow({ ...question, signal: whole }, RENEW_MS * 2, (line) => {
        const result = resultOf(line);
        const events = listOf(result.events);
        onChanges((take) => {
          for (const { kv, type } of events) {
            const key = isObject(kv) ? textIn(kv.key) : null;
            if (key !== null) take(key, type === "DELETE" ? null : valueIn((kv as { value?: unknown }).value));
          }
        });
        for (const { kv } of events) if (isObject(kv)) last = later(last, revisionOf(kv.mod_revision, "/v3/watch"));
      });
    } catch (error) {
      if (!quiet.signal.aborted || signal.aborted || error instanceof Compacted) throw error;
      // Another connection tells whether the member is still there.
      return last;
    } finally {
      clearTimeout(timer);
    }
    throw new Error("/v3/watch: the member has ended the watch");
  }

  private headers(): Readonly<Record<string, string>> {
    return this.token === "" ? {} : { Authorization: this.token };
  }
}

/** Whether another sign-in may help. */
export function isSignInOver(error: unknown): boolean {
  return error instanceof StoreRefusal && (error.status === 401 || /invalid auth token/i.test(error.message));
}

/** @throws Compacted, or Error for a line that says an error */
function resultOf(line: unknown): Readonly<Record<string, unknown>> {
  const { result, error } = isObject(line) ? line : {};
  if (isObject(error)) throw new Error(`/v3/watch: ${textOf(error.message) || "an error"}`);
  if (!isObject(result)) throw new Error("/v3/watch: a line has no result");
  if (result.canceled === true) {
    if (result.compact_revision !== undefined && result.compact_revision !== "0") throw new Compacted("compacted");
    throw new Error(`/v3/watch: ${textOf(result.cancel_reason) || "the member has cancelled the watch"}`);
  }
  return result;
}

function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function revisionOf(value: unknown, path: string): bigint {
  const text = typeof value === "number" ? String(value) : textOf(value);
  if (!/^\d{1,19}$/.test(text)) throw new Error(`${path}: the response has no revision`);
  return BigInt(text);
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** The text of a key; null for bytes that are none. */
function textIn(value: unknown): string | null {
  const bytes = Buffer.from(textOf(value), "base64");
  const text = bytes.toString();
  return bytes.length > 0 && Buffer.compare(Buffer.from(text), bytes) === 0 ? text : null;
}

function valueIn(value: unknown): string {
  return Buffer.from(textOf(value), "base64").toString();
}

/** The first key after all with a prefix. */
function prefixEnd(prefix: Buffer): Uint8Array {
  const end = Buffer.from(prefix);
  for (let i = end.length - 1; i >= 0; i--)
    if (end[i]! < 0xff) {
      end[i] = end[i]! + 1;
      return end.subarray(0, i + 1);
    }
  return Buffer.of(0);
}

const PAGE = 500;
const PATIENCE_MS = 10_000;
/** A watch without changes begins anew after so long: a member that has vanished ends no connection. */
const RENEW_MS = 60_000;
/** etcd takes values of 1.5 MiB by default. */
const MAX_PAGE_BYTES = 268_435_456;
const MAX_SMALL_BYTES = 65_536;
