import { parseCidr } from "../../src/config/cidr.ts";

/** What a record may hold. */
export type MmdbValue =
  | string
  | number
  | bigint
  | boolean
  | readonly MmdbValue[]
  | { readonly [key: string]: MmdbValue };

/** How a database is written. */
export interface MmdbOptions {
  readonly recordBits?: 24 | 28 | 32;
  readonly ipVersion?: 4 | 6;
  readonly type?: string;
  readonly builtSeconds?: number;
  /** Fields of the metadata in place of those that are right. */
  readonly metadata?: Readonly<Record<string, MmdbValue>>;
}

/** A node of the tree: each side a node, a record by its place in the list, or nothing. */
interface Node {
  readonly sides: [Node | number | null, Node | number | null];
  index: number;
}

/** Writes databases in the MaxMind DB format 2.0: networks such as `192.0.2.0/24` with a record each; the longest network counts. */
export function writeMmdb(networks: Readonly<Record<string, MmdbValue>>, options: MmdbOptions = {}): Buffer {
  const { ipVersion = 6, recordBits = 28 } = options;
  const root: Node = newNode();
  const entries = Object.entries(networks).map(([text, value]) => ({ ...bitsOf(text, ipVersion), value }));
  const values: MmdbValue[] = [];
  const sorted = entries.toSorted((a, b) => a.length - b.length);
  for (const { bits, length, value } of sorted) insert(root, bits, length, values.push(value) - 1);
  const nodes: Node[] = [];
  number(root, nodes);
  const writer = new DataWriter();
  const offsets = values.map((value) => writer.record(value));
  const tree = Buffer.alloc((nodes.length * recordBits) / 4);
  const leadsTo = (side: Node | number | null): number => {
    if (side === null) return nodes.length;
    return typeof side === "number" ? nodes.length + 16 + offsets[side]! : side.index;
  };
  for (const { sides, index } of nodes) writeNode(tree, index, recordBits, leadsTo(sides[0]), leadsTo(sides[1]));
  return assembled(tree, writer.bytes(), { ...options, recordBits, ipVersion, nodeCount: nodes.length });
}

/** A database of these parts, whatever they hold. */
export function assembled(tree: Buffer, data: Buffer, options: MmdbOptions & { readonly nodeCount: number }): Buffer {
  const { nodeCount, recordBits = 28, ipVersion = 6, type = "Test", builtSeconds = now(), metadata = {} } = options;
  const writer = new DataWriter(false);
  writer.record({
    node_count: nodeCount,
    record_size: recordBits,
    ip_version: ipVersion,
    database_type: type,
    languages: ["en"],
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: BigInt(builtSeconds),
    description: { en: "made for a test" },
    ...metadata,
  });
  return Buffer.concat([tree, Buffer.alloc(16), data, MARKER, writer.bytes()]);
}

/** A database of countries. */
export function countries(networks: Readonly<Record<string, string>>, options: MmdbOptions = {}): Buffer {
  const records = Object.entries(networks).map(([network, code]) => [network, countryRecord(code)] as const);
  return writeMmdb(Object.fromEntries(records), { type: "GeoLite2-Country", ...options });
}

/** A database of autonomous systems. */
export function networksOf(networks: Readonly<Record<string, number>>, options: MmdbOptions = {}): Buffer {
  const records = Object.entries(networks).map(([network, asn]) => [
    network,
    { autonomous_system_number: asn, autonomous_system_organization: `AS of ${network}` },
  ]);
  return writeMmdb(Object.fromEntries(records), { type: "GeoLite2-ASN", ...options });
}

/** A record as MaxMind writes it: much before the country that is not it. */
function countryRecord(code: string): MmdbValue {
  const names = { de: `Land ${code}`, en: `Country ${code}`, ja: `国 ${code}`, "pt-BR": `País ${code}` };
  return {
    continent: { code: "EU", geoname_id: 6_255_148, names: { de: "Europa", en: "Europe" } },
    registered_country: { geoname_id: 1, is_in_european_union: true, iso_code: "AQ", names },
    country: { geoname_id: 2, is_in_european_union: false, iso_code: code, names },
  };
}

/** Writes one side after the other; a value too large for its bits loses its top. */
export function writeNode(tree: Buffer, index: number, recordBits: 24 | 28 | 32, left: number, right: number): void {
  const at = (index * recordBits) / 4;
  if (recordBits === 24) {
    tree.writeUIntBE(left, at, 3);
    tree.writeUIntBE(right, at + 3, 3);
  } else if (recordBits === 32) {
    tree.writeUInt32BE(left, at);
    tree.writeUInt32BE(right, at + 4);
  } else {
    tree.writeUIntBE(left & 0xffffff, at, 3);
    tree[at + 3] = ((left >>> 24) << 4) | (right >>> 24);
    tree.writeUIntBE(right & 0xffffff, at + 4, 3);
  }
}

function newNode(): Node {
  return { sides: [null, null], index: -1 };
}

function bitsOf(text: string, ipVersion: 4 | 6) {
  const network = parseCidr(text);
  if (typeof network === "string") throw new Error(network);
  const isV4 = !text.includes(":");
  const bytes = isV4 ? [...Array(12).fill(0), ...network.bytes.slice(12)] : [...network.bytes];
  const skip = ipVersion === 4 ? 96 : 0;
  const bits = bytes.flatMap((byte) => Array.from({ length: 8 }, (_, i) => (byte >> (7 - i)) & 1)).slice(skip);
  return { bits, length: network.bits - skip };
}

function insert(root: Node, bits: readonly number[], length: number, record: number): void {
  if (length === 0) {
    root.sides.fill(record);
    return;
  }
  let node = root;
  for (let i = 0; i < length - 1; i++) {
    const side = bits[i] as 0 | 1;
    const next = node.sides[side];
    if (next !== null && typeof next === "object") {
      node = next;
      continue;
    }
    // The rest of a larger network stays where it was.
    const fresh: Node = { sides: [next, next], index: -1 };
    node.sides[side] = fresh;
    node = fresh;
  }
  node.sides[bits[length - 1] as 0 | 1] = record;
}

function number(node: Node, nodes: Node[]): void {
  node.index = nodes.length;
  nodes.push(node);
  for (const side of node.sides) if (side !== null && typeof side === "object") number(side, nodes);
}

/** Writes values; a map that was written before is pointed at, as MaxMind's own writer does. */
class DataWriter {
  private readonly pieces: Buffer[] = [];
  private readonly known: Map<string, number> = new Map();
  private readonly sharesMaps: boolean;
  private length = 0;

  constructor(sharesMaps = true) {
    this.sharesMaps = sharesMaps;
  }

  bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }

  /** @returns where it begins */
  record(value: MmdbValue): number {
    const at = this.length;
    this.value(value, true);
    return at;
  }

  private value(value: MmdbValue, isRecord = false): void {
    if (typeof value === "string") this.sized(2, Buffer.from(value));
    else if (typeof value === "bigint") this.sized(9, unsigned(value));
    else if (typeof value === "number") this.sized(value < 65_536 ? 5 : 6, unsigned(BigInt(value)));
    else if (typeof value === "boolean") this.head(14, value ? 1 : 0);
    else if (Array.isArray(value)) {
      this.head(11, value.length);
      for (const one of value as readonly MmdbValue[]) this.value(one);
    } else this.map(value as Readonly<Record<string, MmdbValue>>, isRecord);
  }

  private map(value: Readonly<Record<string, MmdbValue>>, isRecord: boolean): void {
    const text = JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));
    const known = this.known.get(text);
    if (known !== undefined && !isRecord) {
      this.add(pointer(known));
      return;
    }
    if (this.sharesMaps) this.known.set(text, this.length);
    const entries = Object.entries(value);
    this.head(7, entries.length);
    for (const [key, one] of entries) {
      this.sized(2, Buffer.from(key));
      this.value(one);
    }
  }

  private sized(type: number, payload: Buffer): void {
    this.head(type, payload.length);
    this.add(payload);
  }

  private head(type: number, size: number): void {
    const [short, more] = sizeBytes(size);
    this.add(type <= 7 ? Buffer.from([(type << 5) | short]) : Buffer.from([short, type - 7]));
    this.add(more);
  }

  private add(piece: Buffer): void {
    this.pieces.push(piece);
    this.length += piece.length;
  }
}

function sizeBytes(size: number): readonly [number, Buffer] {
  if (size < 29) return [size, Buffer.alloc(0)];
  if (size < 285) return [29, Buffer.from([size - 29])];
  const more = Buffer.alloc(size < 65_821 ? 2 : 3);
  more.writeUIntBE(size - (size < 65_821 ? 285 : 65_821), 0, more.length);
  return [size < 65_821 ? 30 : 31, more];
}

/** A pointer of the smallest kind that reaches. */
export function pointer(to: number): Buffer {
  if (to < 2048) return Buffer.from([0x20 | (to >> 8), to & 0xff]);
  if (to < 526_336) {
    const rest = to - 2048;
    return Buffer.from([0x28 | (rest >> 16), (rest >> 8) & 0xff, rest & 0xff]);
  }
  const rest = to - 526_336;
  if (rest < 134_217_728)
    return Buffer.from([0x30 | (rest >> 24), (rest >> 16) & 0xff, (rest >> 8) & 0xff, rest & 0xff]);
  const far = Buffer.alloc(5);
  far[0] = 0x38;
  far.writeUInt32BE(to, 1);
  return far;
}

/** Without leading zeros: 0 has no bytes. */
function unsigned(value: bigint): Buffer {
  const digits = value === 0n ? "" : value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

const MARKER = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from("MaxMind.com")]);
