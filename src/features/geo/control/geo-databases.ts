import { statSync } from "node:fs";
import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { labelled, type Metric } from "../../../core/metric-row.ts";
import { FileWatch } from "../../../net/file-watch.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { GEO_EVENTS } from "../events.ts";
import { GEO_METRICS } from "../metrics.ts";
import type { GeoBuffers, GeoMessage, SharedGeo } from "../place-finder.ts";
import { type GeoKind, openDatabase, readDatabase } from "../settings.ts";

/** A database as it is in memory; `bytes` null if the configuration names none. */
interface Database {
  readonly kind: GeoKind;
  readonly file: string;
  /** Tells one state of the file from another. */
  readonly stamp: string;
  readonly bytes: SharedArrayBuffer | null;
  /** Seconds since the epoch. */
  readonly builtSeconds: number;
}

/** What the databases need of the control thread. */
interface GeoPorts {
  /** Sends the changes to every worker. */
  broadcast(message: GeoMessage): void;
  readonly event: EventWriter<typeof GEO_EVENTS>;
}

/** The databases of one configuration. */
interface GeoSet {
  readonly country: Database;
  readonly asn: Database;
  readonly buffers: GeoBuffers;
}

/**
 * The databases of addresses, in the control thread: read once, into memory that all workers share, and again when a file changes.
 * What cannot be used leaves the one before in use. docs/guards.md#countries-and-networks
 */
export class GeoDatabases implements ControlService<RuntimeConfig> {
  private readonly ports: GeoPorts;
  private readonly watch: FileWatch = new FileWatch(() => this.refresh());
  private set: GeoSet = setOf(absent("country_db"), absent("asn_db"));
  /** By file, the failure that the log names, and the state of the file that had it. */
  private readonly failures: Map<string, string> = new Map();
  private reloads = 0;
  private failed = 0;

  constructor(ports: GeoPorts) {
    this.ports = ports;
  }

  /**
   * Reads the databases of a configuration that is not in use yet; files that have not changed are not read again.
   * @throws Error if one cannot be used
   */
  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedGeo } {
    const set = this.read(config);
    const takeUp = (): void => {
      this.set = set;
    };
    return { fields: { geo: set.buffers }, takeUp };
  }

  /** Watches the files from now on, and reads them unless `prepare` has done so for this configuration. */
  use(config: RuntimeConfig): void {
    const { countryDb, asnDb } = config.server.geo;
    const { country, asn } = this.set;
    if (country.file !== countryDb || asn.file !== asnDb) this.set = this.read(config);
    this.failures.clear();
    this.watch.use([countryDb, asnDb]);
  }

  private read({ server: { geo } }: RuntimeConfig): GeoSet {
    const { country, asn } = this.set;
    return setOf(reread(country, geo.countryDb) ?? country, reread(asn, geo.asnDb) ?? asn);
  }

  /** Watches no more. */
  stop(): void {
    this.watch.stop();
  }

  startFields(): SharedGeo {
    return { geo: this.set.buffers };
  }

  metrics(): readonly Metric[] {
    return [
      labelled(GEO_METRICS, "gateway_geo_database_built_seconds", () =>
        [this.set.country, this.set.asn]
          .filter(({ bytes }) => bytes !== null)
          .map(({ kind, builtSeconds }) => ({ label: kind, count: builtSeconds })),
      ),
      labelled(GEO_METRICS, "gateway_geo_reloads_total", () => [
        { label: "ok", count: this.reloads },
        { label: "failed", count: this.failed },
      ]),
    ];
  }

  private refresh(): void {
    const { set } = this;
    const [country, asn] = [this.renewed(set.country), this.renewed(set.asn)];
    if (country === set.country && asn === set.asn) return;
    this.set = setOf(country, asn);
    this.ports.broadcast({ kind: "geo", geo: this.set.buffers });
    for (const [now, before] of [[country, set.country] as const, [asn, set.asn] as const]) {
      if (now === before) continue;
      this.reloads++;
      const { kind: database, file, builtSeconds } = now;
      this.ports.event("geo_reload", { ok: true, database, file, built: new Date(builtSeconds * 1000).toISOString() });
    }
  }

  /** The database as its file is now, or the one before where that is as it was or cannot be used. */
  private renewed(old: Database): Database {
    const { kind, file } = old;
    try {
      const now = reread(old, file);
      if (now === null) return old;
      this.failures.delete(file);
      return now;
    } catch (error) {
      const text = messageOf(error);
      const told = `${stampOf(file)} ${text}`;
      if (this.failures.get(file) !== told) {
        this.failures.set(file, told);
        this.failed++;
        this.ports.event("geo_reload", { ok: false, database: kind, file, error: text });
      }
      return old;
    }
  }
}

/** @returns null if the file is the one that was read before @throws Error if it cannot be used */
function reread(old: Database, file: string): Database | null {
  if (file === "") return old.file === "" ? null : absent(old.kind);
  const stamp = stampOf(file);
  if (file === old.file && stamp === old.stamp) return null;
  const bytes = readDatabase(file);
  const { builtSeconds } = openDatabase(old.kind, bytes);
  return { kind: old.kind, file, stamp, bytes: bytes.buffer, builtSeconds };
}

/** "" if the file is not there. */
function stampOf(file: string): string {
  const state = statSync(file, { throwIfNoEntry: false });
  return state === undefined ? "" : `${state.ino} ${state.size} ${state.mtimeMs}`;
}

function absent(kind: GeoKind): Database {
  return { kind, file: "", stamp: "", bytes: null, builtSeconds: 0 };
}

function setOf(country: Database, asn: Database): GeoSet {
  return { country, asn, buffers: { country: country.bytes, asn: asn.bytes } };
}
