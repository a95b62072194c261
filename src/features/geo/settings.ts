import { readFileSync, statSync } from "node:fs";
import { quote } from "../../config/config-fault.ts";
import type { Spot } from "../../config/piece.ts";
import { below, block } from "../../config/row.ts";
import { fileName } from "../../config/scalars.ts";
import { formatSize } from "../../config/size.ts";
import { messageOf } from "../../core/error-text.ts";
import { MmdbReader } from "../../proto/mmdb/mmdb-reader.ts";
import { asnIn, countryIn } from "../../proto/mmdb/place-records.ts";

/** Bytes of a database of addresses; those of cities have 70 MB to 500 MB. */
const MAX_GEO_DATABASE_BYTES = 1_073_741_824;

/** `server.geo`: databases that say where addresses are; "" if there is none. docs/guards.md#countries-and-networks */
export const geo = block(
  {
    country_db: {
      type: fileName(),
      default: "",
      example: "./GeoLite2-Country.mmdb",
      doc: "database of countries; edge reloads it if you replace it",
    },
    asn_db: {
      type: fileName(),
      default: "",
      example: "./GeoLite2-ASN.mmdb",
      doc: "database of networks (autonomous systems); edge reloads it if you replace it",
    },
  },
  {
    finish: ({ countryDb, asnDb }, _, spot) => ({
      countryDb: database("country_db", countryDb, spot),
      asnDb: database("asn_db", asnDb, spot),
    }),
  },
);

/** What a database is asked for. */
export type GeoKind = "country_db" | "asn_db";

/**
 * Opens a database and looks whether it has what it is asked for.
 * @throws Error that names the fault in it
 */
export function openDatabase(kind: GeoKind, bytes: Uint8Array): MmdbReader {
  const reader = new MmdbReader(bytes);
  const records = reader.someRecords(LOOKED_AT);
  const isOfUse = (record: number): boolean =>
    kind === "country_db" ? countryIn(reader, record) !== "" : asnIn(reader, record) > 0;
  if (records.some(isOfUse)) return reader;
  const what = kind === "country_db" ? "countries" : "numbers of autonomous systems";
  throw new Error(`it has no ${what}${reader.databaseType === "" ? "" : ` (it is a ${reader.databaseType})`}`);
}

/**
 * The bytes of a database, in memory that threads may share.
 * @throws Error if the file cannot be read, is too large, or changes meanwhile
 */
export function readDatabase(file: string): Uint8Array<SharedArrayBuffer> {
  const { size, mtimeMs } = statSync(file);
  if (size > MAX_GEO_DATABASE_BYTES) throw new Error(`it is larger than ${formatSize(MAX_GEO_DATABASE_BYTES)}`);
  const read = readFileSync(file);
  const after = statSync(file);
  if (read.length !== size || after.size !== size || after.mtimeMs !== mtimeMs)
    throw new Error("it changes while it is read");
  const bytes = new Uint8Array(new SharedArrayBuffer(size));
  bytes.set(read);
  return bytes;
}

/** @returns its absolute path */
function database(kind: GeoKind, path: string, { path: at, log, files }: Spot): string {
  const key = [...at, kind];
  const file = files.file(key, path);
  if (file === "" || log.isFaulty(key)) return file;
  try {
    const { builtSeconds, databaseType } = openDatabase(kind, readDatabase(file));
    const days = Math.floor((Date.now() / 1000 - builtSeconds) / 86_400);
    if (days > OLD_DAYS)
      log.warn(key, `this ${databaseType} is ${days} days old: addresses move, and MaxMind has a new one twice a week`);
  } catch (error) {
    log.fault(key, `expected a database in the MaxMind DB format, found ${quote(path)}: ${messageOf(error)}`);
  }
  return file;
}

/** What of address rules a database is needed for. */
interface PlaceRules {
  readonly allow_countries: readonly string[];
  readonly deny_countries: readonly string[];
  readonly deny_asns: readonly number[];
}

/** The files that `server.geo` names. */
interface GeoFiles {
  readonly countryDb: string;
  readonly asnDb: string;
}

/** Notes rules about countries and networks if no database says where an address is. @param spot of the rules */
export function checkPlaceRules(rules: PlaceRules, { countryDb, asnDb }: GeoFiles, spot: Spot): void {
  needsDatabase(rules.allow_countries, "country_db", countryDb, below(spot, "allow_countries"));
  needsDatabase(rules.deny_countries, "country_db", countryDb, below(spot, "deny_countries"));
  needsDatabase(rules.deny_asns, "asn_db", asnDb, below(spot, "deny_asns"));
  const both = rules.allow_countries.filter((code) => rules.deny_countries.includes(code));
  if (both.length > 0)
    spot.log.warn([...spot.path, "deny_countries"], `${both.join(", ")} is allowed as well: deny is checked first`);
}

/** The same for countries alone. @param spot of the list */
export function checkCountries(countries: readonly string[], { countryDb }: GeoFiles, spot: Spot): void {
  needsDatabase(countries, "country_db", countryDb, spot);
}

function needsDatabase(listed: readonly unknown[], kind: GeoKind, file: string, { path, log }: Spot): void {
  if (listed.length === 0 || file !== "" || log.isFaulty(["server", "geo"]) || log.isFaulty(path)) return;
  log.fault(path, `needs server.geo.${kind}, the database to look it up in`);
}
/** A database of whose first records none has what is asked for is another one. */
const LOOKED_AT = 1000;
const OLD_DAYS = 60;
