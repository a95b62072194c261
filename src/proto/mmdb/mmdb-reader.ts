import { MmdbSection } from "./mmdb-section.ts";

/** Why bytes are no database of addresses. */
class MmdbFault extends Error {}

/**
 * A database of addresses in the MaxMind DB format 2.0: a tree with a node for each bit of an address, whose leaves point at records.
 * It may lie in memory that threads share. Bytes that are wrong lead to a wrong place and nothing else: no lookup throws, reads beyond
 * its section, or takes more than 128 nodes and a bounded number of values.
 *
 * mmdb-lib 3.0.3, the reader of the package maxmind, decodes a whole record at each lookup, with its names in eight languages, and
 * follows pointers without a bound: maps that point twice at the next one, 24 of them in a file of 439 bytes, held it for 8 s, and
 * each further one doubles that. The tests compare what the two say of sound files. docs/guards.md#countries-and-networks
 */
export class MmdbReader {
  /** Such as `GeoLite2-Country`; printable ASCII. */
  readonly databaseType: string;
  /** When it was made, in seconds since the epoch. */
  readonly builtSeconds: number;
  /** The records. */
  readonly data: MmdbSection;
  private readonly bytes: Uint8Array;
  private readonly nodeCount: number;
  private readonly recordBits: number;
  private readonly dataAt: number;
  private readonly dataEnd: number;
  private readonly isV4Only: boolean;
  /** The node, or record, that IPv4 addresses begin at. */
  private readonly v4Root: number;

  /** @throws MmdbFault that names the fault */
  constructor(bytes: Uint8Array) {
    const marker = markerIn(bytes);
    if (marker < 0) throw new MmdbFault("it is no MaxMind DB, or it is cut off: the metadata at its end is missing");
    const at = marker + MARKER.length;
    const metadata = new MmdbSection(bytes, at, bytes.length);
    const number = (key: string): number => metadata.numberAt(metadata.memberAt(at, key));
    const version = number("binary_format_major_version");
    if (version !== 2) throw new MmdbFault(`version ${version < 0 ? "unknown" : version} of the format: expected 2`);
    this.bytes = bytes;
    this.nodeCount = number("node_count");
    this.recordBits = number("record_size");
    const ipVersion = number("ip_version");
    this.databaseType = metadata
      .textAt(metadata.memberAt(at, "database_type"))
      .replace(/[^\x20-\x7e]/g, "")
      .slice(0, MAX_TYPE_CHARS);
    this.builtSeconds = number("build_epoch");
    if (![24, 28, 32].includes(this.recordBits)) throw new MmdbFault("its records have neither 24, 28 nor 32 bits");
    if (ipVersion !== 4 && ipVersion !== 6) throw new MmdbFault("it is for neither IPv4 nor IPv6");
    const treeBytes = this.nodeCount * (this.recordBits / 4);
    if (this.nodeCount < 1 || treeBytes + SEPARATOR_BYTES > marker)
      throw new MmdbFault("its tree is larger than the file: it is cut off");
    for (let i = 0; i < SEPARATOR_BYTES; i++) {
      if (bytes[treeBytes + i] !== 0) throw new MmdbFault("its tree does not have the size of its metadata");
    }
    this.dataAt = treeBytes + SEPARATOR_BYTES;
    this.dataEnd = marker;
    this.data = new MmdbSection(bytes, this.dataAt, marker);
    this.isV4Only = ipVersion === 4;
    this.v4Root = this.isV4Only ? 0 : this.walk(ZEROS, 0, 96, 0);
  }

  /**
   * Where in `data` the record of an address begins; -1 if there is none.
   * @param octets 16, IPv4 as `::ffff:a.b.c.d`
   * @param isV4 whether it is one of IPv4
   */
  find(octets: Uint8Array, isV4: boolean): number {
    if (!isV4 && this.isV4Only) return -1;
    const found = isV4 ? this.walk(octets, 96, 128, this.v4Root) : this.walk(octets, 0, 128, 0);
    return this.recordAt(found);
  }

  /** The records of the first leaves, so many at most: what they hold tells what the database is about. */
  someRecords(count: number): readonly number[] {
    const records = new Set<number>();
    const open = [0];
    for (let visits = 0; open.length > 0 && records.size < count && visits < MAX_VISITS; visits++) {
      const node = open.pop()!;
      if (node < this.nodeCount) open.push(this.child(node, 1), this.child(node, 0));
      else if (this.recordAt(node) >= 0) records.add(this.recordAt(node));
    }
    return [...records];
  }

  /** Goes down by the bits `[from, to)`. A tree that leads round is left at the last bit. */
  private walk(octets: Uint8Array, from: number, to: number, start: number): number {
    let node = start;
    for (let bit = from; bit < to && node < this.nodeCount; bit++) {
      node = this.child(node, (octets[bit >> 3]! >> (7 - (bit & 7))) & 1);
    }
    return node;
  }

  /** @param side 0 or 1 */
  private child(node: number, side: number): number {
    const { bytes } = this;
    if (this.recordBits === 24) {
      const at = node * 6 + side * 3;
      return (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    }
    if (this.recordBits === 28) {
      const at = node * 7 + side * 4;
      const middle = bytes[node * 7 + 3]!;
      const high = side === 0 ? middle >> 4 : middle & 0x0f;
      return (high << 24) | (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    }
    const at = node * 8 + side * 4;
    return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  }

  /** What a value of the tree that is no node leads to; -1 for nothing, and for what leads out of the file. */
  private recordAt(value: number): number {
    // The separator counts as a part of the data there.
    const at = value - this.nodeCount + this.dataAt - SEPARATOR_BYTES;
    return value <= this.nodeCount || at < this.dataAt || at >= this.dataEnd ? -1 : at;
  }
}

/** Where the last marker of metadata begins; -1 without one. */
function markerIn(bytes: Uint8Array): number {
  const lowest = Math.max(0, bytes.length - MAX_METADATA_BYTES);
  for (let at = bytes.length - MARKER.length; at >= lowest; at--) {
    let i = 0;
    while (i < MARKER.length && bytes[at + i] === MARKER[i]) i++;
    if (i === MARKER.length) return at;
  }
  return -1;
}

const MARKER: Uint8Array = Uint8Array.of(0xab, 0xcd, 0xef, ...Buffer.from("MaxMind.com"));
const ZEROS = new Uint8Array(12);
const SEPARATOR_BYTES = 16;
/** MaxMind DB 2.0, "Database Metadata". */
const MAX_METADATA_BYTES = 131_072;
const MAX_TYPE_CHARS = 64;
/** More nodes than the first records lie apart. */
const MAX_VISITS = 65_536;
