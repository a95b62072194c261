import { randomUUID } from "node:crypto";
import { messageOf } from "../../../../core/error-text.ts";
import {
  DocumentConflict,
  type DocumentStore,
  MAX_DOCUMENT_BYTES,
  SAME,
  StoreAway,
  type StoredDocument,
} from "./document-store.ts";

/** A connection to Redis, or what speaks as it does. */
export interface RedisCommands {
  /** @param key decides which server of a cluster is asked @throws where the command fails */
  call(key: string, words: readonly string[]): Promise<unknown>;
  close(): void;
}

/**
 * Documents in Redis: a hash for each with text, version and the time of its write, and a set of their names. All keys have one hash tag, so that
 * scripts work in a cluster. docs/acme.md#one-store-for-several-gateways
 */
export class RedisDocuments implements DocumentStore {
  private readonly tag: string;
  private readonly open: (onLost: () => void) => Promise<RedisCommands>;
  private connection: Promise<RedisCommands> | null = null;
  private isClosed = false;

  /** @param prefix begins the names of all keys @param open connects */
  constructor(prefix: string, open: (onLost: () => void) => Promise<RedisCommands>) {
    this.tag = `{${prefix}:certs}`;
    this.open = open;
  }

  async read(name: string, known: string): Promise<StoredDocument | null | typeof SAME> {
    const found = await this.script(READ, [this.key(name)], [known]);
    if (!Array.isArray(found) || found.length === 0) return null;
    const [version, text, ageMs] = found.map(String);
    return text === undefined ? SAME : { text, version: version!, ageMs: Math.max(0, Number(ageMs)) };
  }

  async write(name: string, text: string, expected: string): Promise<string> {
    if (Buffer.byteLength(text) > MAX_DOCUMENT_BYTES) throw new Error(`${name} is too large for the store`);
    const version = randomUUID();
    const keys = [this.key(name), this.index];
    if (Number(await this.script(WRITE, keys, [expected, version, text, name])) !== 1)
      throw new DocumentConflict(`${name} was written by another gateway`);
    return version;
  }

  async list(prefix: string): Promise<readonly string[]> {
    const found = await this.command(this.index, ["SMEMBERS", this.index]);
    return (found as unknown[]).map(String).filter((name) => name.startsWith(prefix));
  }

  close(): void {
    this.isClosed = true;
    this.drop();
  }

  private key(name: string): string {
    return `${this.tag}:${name}`;
  }

  private get index(): string {
    return `${this.tag}:names`;
  }

  private script(text: string, keys: readonly string[], words: readonly string[]): Promise<unknown> {
    return this.command(keys[0]!, ["EVAL", text, String(keys.length), ...keys, ...words]);
  }

  private async command(key: string, words: readonly string[]): Promise<unknown> {
    try {
      return await (await this.connected()).call(key, words);
    } catch (error) {
      this.drop();
      throw new StoreAway(`redis: ${messageOf(error)}`);
    }
  }

  private connected(): Promise<RedisCommands> {
    if (this.isClosed) return Promise.reject(new Error("the store is closed"));
    if (this.connection === null) {
      const opened: Promise<RedisCommands> = this.open(() => {
        if (this.connection === opened) this.connection = null;
      });
      this.connection = opened;
    }
    return this.connection;
  }

  /** A connection that failed is made anew by the next command. */
  private drop(): void {
    void this.connection?.then((one) => one.close()).catch(() => {});
    this.connection = null;
  }
}

/** Version, text and age in milliseconds; the version alone if it is known. */
const READ = `
local found = redis.call('HMGET', KEYS[1], 'version', 'text', 'at')
if not found[1] then return {} end
if found[1] == ARGV[1] then return {found[1]} end
local time = redis.call('TIME')
return {found[1], found[2], tostring(time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(found[3]))}`;

/** 1 where the version is the one that is expected. */
const WRITE = `
local version = redis.call('HGET', KEYS[1], 'version')
if (version or '') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local at = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'text', ARGV[3], 'at', at)
redis.call('SADD', KEYS[2], ARGV[4])
return 1`;
