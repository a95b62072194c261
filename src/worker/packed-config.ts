import { deserialize, serialize } from "bun:jsc";
import type { ConnectionSettings } from "../edge/client-socket.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { MANY_ROUTES } from "../routes/upstream/upstream-route.ts";

/** A configuration as the bytes that all workers read it from: written once, whatever their number. */
export type PackedConfig = SharedArrayBuffer;

/** The packet of the configuration in use, for as long as workers ask for it. */
export class ConfigPacket {
  private packed: PackedConfig | null = null;
  private source: RuntimeConfig | null = null;

  /** The packet of a configuration. @param completed gives the configuration as the workers are to have it */
  of(config: RuntimeConfig, completed: (config: RuntimeConfig) => RuntimeConfig): PackedConfig {
    if (this.packed === null || this.source !== config) this.packed = packConfig(completed(config));
    this.source = config;
    return this.packed;
  }

  /** All workers have it; one that is started again gets a new one. */
  forget(config: RuntimeConfig): void {
    this.packed = null;
    collectLeftovers(config);
  }
}

/** Packs a configuration for the workers. */
export function packConfig(config: RuntimeConfig): PackedConfig {
  return serialize(config);
}

/** The configuration in a packet. */
export function unpackConfig(packed: PackedConfig): RuntimeConfig {
  const config = deserialize(packed) as RuntimeConfig;
  const bytes = Buffer.from(packed);
  const has = (...names: readonly string[]) => names.some((name) => bytes.includes(name));
  const matches = config.routes.flatMap(({ match }) => match ?? []);
  noted.set(config, {
    keepsHello:
      has("tls.ja4", "TLS_JA4") ||
      config.server.bots.impostors !== "off" ||
      matches.some(({ ja4 = [] }) => ja4.length > 0),
    notesOpening: has("http2.fingerprint", "HTTP2_FINGERPRINT") || matches.some(({ http2 = [] }) => http2.length > 0),
  });
  return config;
}

/** Which fingerprints a configuration asks for. docs/fingerprints.md */
type Knocks = Pick<ConnectionSettings, "keepsHello" | "notesOpening">;

/**
 * Which fingerprints a configuration asks for, in a placeholder, a field of the log, a rule, a limit or a match: for no other is a byte
 * looked at. A configuration that was not unpacked asks for none.
 */
export function knocksOf(config: RuntimeConfig): Knocks {
  return noted.get(config) ?? { keepsHello: false, notesOpening: false };
}

const noted: WeakMap<RuntimeConfig, Knocks> = new WeakMap();

/** After a large configuration was read, most of the memory is what it was made of: room for what is made of it. */
export function collectSource(config: RuntimeConfig): void {
  if (config.routes.length >= MANY_ROUTES) collect();
}

/**
 * After a large configuration was taken, the one before it is left over. Not at once: the caller still has it on its stack,
 * where the collector finds it.
 */
export function collectLeftovers(config: RuntimeConfig): void {
  if (config.routes.length >= MANY_ROUTES) setTimeout(collect, 0);
}

/** So many collections may follow one another, and then one each period: while changes come all the time, the collector's own pace suffices. */
const IN_A_ROW = 4;
const EACH_MS = 5000;
let left = IN_A_ROW;
let notedMs = 0;
let isWaiting = false;

function collect(): void {
  const now = performance.now();
  left = Math.min(IN_A_ROW, left + (now - notedMs) / EACH_MS);
  notedMs = now;
  if (left >= 1) {
    left--;
    Bun.gc(true);
    return;
  }
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(() => {
    isWaiting = false;
    collect();
  }, EACH_MS).unref();
}
