import { readFileSync } from "node:fs";
import { messageOf } from "../../../core/error-text.ts";
import { bracketed } from "../../../core/ip-address.ts";
import { withinMs } from "../../../core/time-limit.ts";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import type { FleetStore } from "../fleet-store.ts";
import { slotOf } from "../key-slot.ts";
import type { ClusterConfig } from "../settings.ts";

/** What of a fleet's settings says where its store is. */
export type StoreAddress = Pick<ClusterConfig, "store" | "master" | "password" | "caFile">;

/** Where a server is, and how it is spoken to. */
interface Place {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens Redis, Valkey or what speaks as they do: one server, the master that sentinels name, or a cluster.
 * @param onLost learns once that the connection is gone
 * @throws if none of the addresses can be used
 */
export async function openRedis(config: StoreAddress, onLost: (reason: string) => void): Promise<FleetStore> {
  const reasons: string[] = [];
  for (const address of config.store) {
    try {
      return await openBy(new URL(address), config, onLost);
    } catch (error) {
      reasons.push(messageOf(error));
    }
  }
  throw new Error([...new Set(reasons)].join("; ") || "there is no address");
}

async function openBy(url: URL, config: StoreAddress, onLost: (reason: string) => void): Promise<FleetStore> {
  const asked = await connect(url, config, onLost);
  try {
    if (config.master !== "") {
      const found = await limited(asked.send("SENTINEL", ["GET-MASTER-ADDR-BY-NAME", config.master]));
      if (!Array.isArray(found)) throw new Error(`the sentinel knows no ${config.master}`);
      closeQuietly(asked);
      const master = moved(url, { host: found[0], port: Number(found[1]) }, config.password);
      return await openBy(master, { ...config, master: "" }, onLost);
    }
    const info = String(await limited(asked.send("INFO", ["cluster"])));
    if (info.includes("cluster_enabled:1")) return new RedisCluster(url, config, asked, onLost);
    // A replica answers too, and refuses all that changes something.
    const role = await limited(asked.send("ROLE", []));
    if (Array.isArray(role) && role[0] !== "master") throw new Error(`the server is a ${role[0]}`);
    return new OneRedis(asked);
  } catch (error) {
    closeQuietly(asked);
    throw error;
  }
}

async function connect(url: URL, { caFile }: StoreAddress, onLost: (reason: string) => void): Promise<Bun.RedisClient> {
  const client = new Bun.RedisClient(url.href, {
    autoReconnect: false,
    enableOfflineQueue: false,
    connectionTimeout: CONNECT_MS,
    // Said here, since the runtime would let NODE_TLS_REJECT_UNAUTHORIZED decide. docs/security.md#environment
    ...(url.protocol === "rediss:" ? { tls: { rejectUnauthorized: true, ...authoritiesIn(caFile) } } : {}),
  });
  let isOpen = false;
  client.onclose = (error) => {
    if (isOpen) onLost(messageOf(error ?? "the connection is closed"));
    isOpen = false;
  };
  await limited(client.connect());
  isOpen = true;
  return client;
}

function authoritiesIn(caFile: string): { ca?: string } {
  return caFile === "" ? {} : { ca: readCertificates(readFileSync(caFile)).pem };
}

/** What is closed here is not lost. */
function closeQuietly(client: Bun.RedisClient): void {
  client.onclose = () => {};
  client.close();
}

/** The same address at another place. */
function moved(url: URL, { host, port }: Place, password = ""): URL {
  const next = new URL(url.href);
  next.hostname = bracketed(host);
  next.port = String(port);
  if (password !== "") next.password = encodeURIComponent(password);
  return next;
}

/** One server. */
class OneRedis implements FleetStore {
  private readonly client: Bun.RedisClient;

  constructor(client: Bun.RedisClient) {
    this.client = client;
  }

  call(_key: string, [name, ...words]: readonly string[]): Promise<unknown> {
    return limited(this.client.send(name!, words));
  }

  close(): void {
    closeQuietly(this.client);
  }
}

/** Several servers, each with a part of the keys. Redis Cluster Specification, "Client and Server roles" */
class RedisCluster implements FleetStore {
  private readonly url: URL;
  private readonly config: StoreAddress;
  private readonly onLost: (reason: string) => void;
  private readonly clients: Map<string, Promise<Bun.RedisClient>> = new Map();
  /** Where keys of a slot are, as it was last told. */
  private readonly places: Map<number, string> = new Map();
  private readonly first: string;
  private isClosed = false;

  constructor(url: URL, config: StoreAddress, client: Bun.RedisClient, onLost: (reason: string) => void) {
    this.url = url;
    this.config = config;
    this.onLost = onLost;
    this.first = `${url.hostname}:${url.port || "6379"}`;
    this.clients.set(this.first, Promise.resolve(client));
  }

  async call(key: string, words: readonly string[]): Promise<unknown> {
    const slot = slotOf(key);
    let place = this.places.get(slot) ?? this.first;
    for (let hops = 0; ; hops++) {
      const client = await this.clientAt(place);
      const [name, ...rest] = words;
      try {
        return await limited(client.send(name!, rest));
      } catch (error) {
        const [, kind, next] = /\b(MOVED|ASK) \d+ (\S+:\d+)/.exec(messageOf(error)) ?? [];
        if (next === undefined || hops >= MAX_HOPS) throw error;
        place = next.startsWith(":") ? `${this.url.hostname}${next}` : next;
        if (kind === "MOVED") this.places.set(slot, place);
        else await limited((await this.clientAt(place)).send("ASKING", []));
      }
    }
  }

  close(): void {
    this.isClosed = true;
    for (const client of this.clients.values()) void client.then(closeQuietly).catch(() => {});
  }

  private clientAt(place: string): Promise<Bun.RedisClient> {
    const found = this.clients.get(place);
    if (found !== undefined) return found;
    const at = place.lastIndexOf(":");
    const url = moved(this.url, { host: place.slice(0, at), port: Number(place.slice(at + 1)) });
    const opened = connect(url, this.config, (reason) => {
      this.clients.delete(place);
      for (const [slot, where] of this.places) if (where === place) this.places.delete(slot);
      if (!this.isClosed && place === this.first) this.onLost(reason);
    });
    this.clients.set(place, opened);
    opened.catch(() => this.clients.delete(place));
    return opened;
  }
}

/** @throws where it takes too long */
function limited<T>(work: Promise<T>): Promise<T> {
  return withinMs(work, CALL_MS, "the store does not answer");
}

const CONNECT_MS = 2000;
/** For one command: what takes longer counts as away. */
const CALL_MS = 2000;
const MAX_HOPS = 4;
