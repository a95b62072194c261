import { isMappedV4, parseAddress } from "../../core/ip-address.ts";
import type { Takers } from "../../core/message-takers.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import type { ClientPlaces } from "../../message/ports.ts";
import { MmdbReader } from "../../proto/mmdb/mmdb-reader.ts";
import { asnIn, countryIn } from "../../proto/mmdb/place-records.ts";

/** The databases of a configuration, in memory that all threads share; null if there is none. */
export interface GeoBuffers {
  readonly country: SharedArrayBuffer | null;
  readonly asn: SharedArrayBuffer | null;
}

/** The part of each configuration's message that is about them. */
export interface SharedGeo {
  readonly geo: GeoBuffers;
}

/** From the control thread: other databases. */
export interface GeoMessage extends SharedGeo {
  readonly kind: "geo";
}

export const NO_GEO: GeoBuffers = { country: null, asn: null };

/** Where an address is. */
interface Place {
  readonly country: string;
  readonly asn: number;
}

/**
 * Says where clients are, in one worker; it outlives configurations. What was found is remembered: connections live longer than
 * requests, and clients come again. docs/guards.md#countries-and-networks
 */
export class PlaceFinder implements ClientPlaces, WorkerService<unknown> {
  readonly onMessage: Takers<GeoMessage> = { geo: (message) => this.share(message) };
  private buffers: GeoBuffers = NO_GEO;
  private country: MmdbReader | null = null;
  private asn: MmdbReader | null = null;
  private readonly places: Map<string, Place> = new Map();
  /** By record: a database has a few hundred for all its networks, and reading one takes longer than finding it. */
  private readonly countries: Map<number, string> = new Map();

  /** Takes these databases in place of those so far; both have been opened by the control thread before. */
  share({ geo: buffers }: SharedGeo): void {
    if (buffers.country === this.buffers.country && buffers.asn === this.buffers.asn) return;
    this.buffers = buffers;
    this.country = readerOf(buffers.country);
    this.asn = readerOf(buffers.asn);
    this.places.clear();
    this.countries.clear();
  }

  countryOf(address: string): string {
    return this.placeOf(address).country;
  }

  asnOf(address: string): number {
    return this.placeOf(address).asn;
  }

  private placeOf(address: string): Place {
    const known = this.places.get(address);
    if (known !== undefined) return known;
    // A client with ever new addresses pays for looking them up, and nothing grows.
    if (this.places.size >= MAX_PLACES) this.places.clear();
    const place = this.find(address);
    this.places.set(address, place);
    return place;
  }

  private find(address: string): Place {
    if (!parseAddress(address, octets)) return NOWHERE;
    const isV4 = isMappedV4(octets);
    const { country, asn } = this;
    const inCountry = country === null ? -1 : country.find(octets, isV4);
    const inNetwork = asn === null ? -1 : asn.find(octets, isV4);
    if (inCountry < 0 && inNetwork < 0) return NOWHERE;
    return {
      country: inCountry < 0 ? "" : this.countryIn(country!, inCountry),
      asn: inNetwork < 0 ? 0 : asnIn(asn!, inNetwork),
    };
  }

  private countryIn(database: MmdbReader, record: number): string {
    const known = this.countries.get(record);
    if (known !== undefined) return known;
    if (this.countries.size >= MAX_PLACES) this.countries.clear();
    const country = countryIn(database, record);
    this.countries.set(record, country);
    return country;
  }
}

function readerOf(buffer: SharedArrayBuffer | null): MmdbReader | null {
  return buffer === null ? null : new MmdbReader(new Uint8Array(buffer));
}

const NOWHERE: Place = { country: "", asn: 0 };
const MAX_PLACES = 4096;
/** One for all, since nothing waits in between. */
const octets = new Uint8Array(16);
