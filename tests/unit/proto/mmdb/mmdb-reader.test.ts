import { describe, expect, test } from "bun:test";
import { isMappedV4, parseAddress } from "../../../../src/core/ip-address.ts";
import { MmdbReader } from "../../../../src/proto/mmdb/mmdb-reader.ts";
import { asnIn, countryIn } from "../../../../src/proto/mmdb/place-records.ts";
import {
  assembled,
  countries,
  type MmdbValue,
  networksOf,
  pointer,
  writeMmdb,
  writeNode,
} from "../../../harness/mmdb.ts";

function find(reader: MmdbReader, address: string): number {
  const octets = new Uint8Array(16);
  if (!parseAddress(address, octets)) throw new Error(address);
  return reader.find(octets, isMappedV4(octets));
}

function countryOf(reader: MmdbReader, address: string): string {
  const record = find(reader, address);
  return record < 0 ? "none" : countryIn(reader, record);
}

const NETWORKS = { "192.0.2.0/24": "DE", "192.0.2.128/25": "FR", "198.51.100.7/32": "US", "2001:db8::/32": "JP" };

describe.each([24, 28, 32] as const)("records of %d bits", (recordBits) => {
  test("v4, mapped and v6 addresses", () => {
    const reader = new MmdbReader(countries(NETWORKS, { recordBits }));
    const found = [
      "192.0.2.1",
      "::ffff:192.0.2.1",
      "192.0.2.200",
      "198.51.100.7",
      "198.51.100.8",
      "2001:db8::1",
      "2001:db9::1",
    ];
    expect(found.map((one) => countryOf(reader, one))).toEqual(["DE", "DE", "FR", "US", "none", "JP", "none"]);
    expect(reader.databaseType).toBe("GeoLite2-Country");
  });

  test("a database of IPv4 alone has no IPv6 address", () => {
    const reader = new MmdbReader(countries({ "192.0.2.0/24": "DE" }, { recordBits, ipVersion: 4 }));
    expect(["192.0.2.1", "192.0.3.1", "2001:db8::1"].map((one) => countryOf(reader, one))).toEqual([
      "DE",
      "none",
      "none",
    ]);
  });

  test("many networks", () => {
    const many = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`10.${i >> 8}.${i & 255}.0/24`, i + 1]));
    const reader = new MmdbReader(networksOf(many, { recordBits }));
    for (let i = 0; i < 3000; i += 7) expect(asnIn(reader, find(reader, `10.${i >> 8}.${i & 255}.9`))).toBe(i + 1);
  });
});

test.each<readonly [string, MmdbValue, string, number]>([
  ["MaxMind's", { country: { iso_code: "DE" }, autonomous_system_number: 64500 }, "DE", 64500],
  ["a flat one", { country_code: "fr", asn: "AS4294967295" }, "FR", 4294967295],
  ["a country that is a text", { country: "NO", asn: 7 }, "NO", 7],
  ["no code", { country: { iso_code: "DEU" }, asn: "64500" }, "", 0],
  ["control bytes", { country: { iso_code: "\n\x01" }, asn: "AS1\n" }, "", 0],
  ["a code that is a number", { country: { iso_code: 1 }, autonomous_system_number: "1" }, "", 0],
  ["an empty one", {}, "", 0],
  ["a list", [1, 2], "", 0],
  ["a larger number than there is", { autonomous_system_number: 4294967296n }, "", 0],
])("a record in the manner of %s", (_, record, country, asn) => {
  const reader = new MmdbReader(writeMmdb({ "0.0.0.0/0": record }));
  const at = find(reader, "192.0.2.1");
  expect([countryIn(reader, at), asnIn(reader, at)]).toEqual([country, asn]);
});

describe("what is no database", () => {
  const good = countries(NETWORKS);
  test.each<readonly [string, Uint8Array, RegExp]>([
    ["nothing", Buffer.alloc(0), /no MaxMind DB/],
    ["a text", Buffer.from("country,code\n".repeat(1000)), /no MaxMind DB/],
    ["a file without its end", good.subarray(0, good.length - 200), /no MaxMind DB/],
    ["a file without its beginning", good.subarray(500), /cut off|does not have the size/],
    ["another version", countries(NETWORKS, { metadata: { binary_format_major_version: 3 } }), /version 3/],
    ["odd records", countries(NETWORKS, { metadata: { record_size: 20 } }), /24, 28 nor 32/],
    ["no nodes", countries(NETWORKS, { metadata: { node_count: 0 } }), /cut off/],
    ["too many nodes", countries(NETWORKS, { metadata: { node_count: 4_000_000_000 } }), /cut off/],
    ["fewer nodes than there are", countries(NETWORKS, { metadata: { node_count: 3 } }), /does not have the size/],
    ["another protocol", countries(NETWORKS, { metadata: { ip_version: 5 } }), /neither IPv4 nor IPv6/],
  ])("%s", (_, bytes, why) => {
    expect(() => new MmdbReader(bytes)).toThrow(why);
  });
});

describe("hostile trees and records", () => {
  /** A tree of one node whose sides lead to these places of the data. */
  function oneNode(data: Buffer, left: number, right = left): MmdbReader {
    const tree = Buffer.alloc(8);
    writeNode(tree, 0, 32, left, right);
    return new MmdbReader(assembled(tree, data, { recordBits: 32, nodeCount: 1 }));
  }
  const TO_DATA = 1 + 16;

  test("a tree that leads round ends at the last bit", () => {
    const reader = oneNode(Buffer.from([0xe0]), 0);
    expect(find(reader, "192.0.2.1")).toBe(-1);
    expect(find(reader, "2001:db8::1")).toBe(-1);
    expect(reader.someRecords(10)).toEqual([]);
  });

  test.each([1, 2, 16, 1_000_000, 4_294_967_295])("a leaf that leads to %d, out of the data", (leaf) => {
    const reader = oneNode(Buffer.from([0xe0]), leaf);
    const at = find(reader, "192.0.2.1");
    expect(at < 0 ? "none" : countryIn(reader, at)).toBe("none");
  });

  const key = Buffer.concat([Buffer.from([0x47]), Buffer.from("country")]);
  const HOSTILE: readonly (readonly [string, Buffer])[] = [
    ["a pointer to itself", pointer(0)],
    ["pointers in a ring", Buffer.concat([pointer(2), pointer(0)])],
    ["a pointer out of the file", pointer(100_000_000)],
    ["a far pointer", Buffer.from([0x38, 0xff, 0xff, 0xff, 0xff])],
    ["a pointer without its bytes", Buffer.from([0x38])],
    ["a map that is itself", Buffer.concat([Buffer.from([0xe1]), key, pointer(0)])],
    ["a map of sixteen million pairs", Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ["a map whose keys are lists", Buffer.from([0xe1, 0x01, 0x04, 0xa0])],
    ["a text longer than the file", Buffer.concat([Buffer.from([0xe1]), key, Buffer.from([0x5f, 0xff, 0xff, 0xff])])],
    ["a type that there is not", Buffer.from([0x00, 0xff])],
    ["a type cut off", Buffer.from([0x00])],
    [
      "lists in lists",
      Buffer.concat([Buffer.from([0xe1, 0x41, 0x78]), ...Array(100_000).fill(Buffer.from([0x01, 0x04]))]),
    ],
    ["maps that point twice at the next", Buffer.concat([...doublings(40), Buffer.from([0xe0])])],
    ["a list of sixteen million nothings", Buffer.from([0xe1, 0x41, 0x78, 0x1f, 0x04, 0xff, 0xff, 0xff])],
  ];

  /** Each map has two keys, whose values are the next map: 2^n records for whoever decodes them all. */
  function doublings(depth: number): readonly Buffer[] {
    const bytes = 1 + 2 * (2 + 2);
    return Array.from({ length: depth }, (_, i) => {
      const next = pointer((i + 1) * bytes);
      return Buffer.concat([Buffer.from([0xe2, 0x41, 0x61]), next, Buffer.from([0x41, 0x62]), next]);
    });
  }

  test.each(HOSTILE)("%s", (_, data) => {
    const reader = oneNode(data, TO_DATA);
    const at = find(reader, "192.0.2.1");
    const begun = performance.now();
    for (let i = 0; i < 10; i++) expect([countryIn(reader, at), asnIn(reader, at)]).toEqual(["", 0]);
    expect(performance.now() - begun).toBeLessThan(1000);
  });
});
