import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type CountryResponse, Reader } from "mmdb-lib";
import { formatAddress, isMappedV4, parseAddress } from "../../src/core/ip-address.ts";
import { MmdbReader } from "../../src/proto/mmdb/mmdb-reader.ts";
import { asnIn, countryIn } from "../../src/proto/mmdb/place-records.ts";
import { countries, networksOf } from "../harness/mmdb.ts";

// docs/guards.md#countries-and-networks
const code = fc.stringMatching(/^[A-Z]{2}$/);
const v4 = fc.tuple(fc.nat(0xffffffff), fc.integer({ min: 1, max: 32 })).map(([number, bits]) => {
  const network = bits === 32 ? number : ((number >>> (32 - bits)) << (32 - bits)) >>> 0;
  return `${network >>> 24}.${(network >>> 16) & 255}.${(network >>> 8) & 255}.${network & 255}/${bits}`;
});
const v6 = fc
  .tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), fc.integer({ min: 1, max: 128 }))
  .map(([bytes, bits]) => {
    // Global unicast, so that nothing falls into the addresses of IPv4.
    bytes[0] = 0x20 | (bytes[0]! & 0x1f);
    const network = bytes.map((byte, i) => byte & (0xff << (8 - Math.min(8, Math.max(0, bits - i * 8)))));
    return `${formatAddress(network)}/${Math.max(3, bits)}`;
  });
const recordBits = fc.constantFrom(24 as const, 28 as const, 32 as const);
const address = fc.oneof(fc.ipV4(), fc.ipV6());

function lookUp(reader: MmdbReader, text: string): number {
  const octets = new Uint8Array(16);
  return parseAddress(text, octets) ? reader.find(octets, isMappedV4(octets)) : -1;
}

describe("a database", () => {
  test("says what the reader of the package maxmind says", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.oneof(v4, v6), code, { minKeys: 1, maxKeys: 30 }),
        fc.array(address, { maxLength: 20 }),
        recordBits,
        (networks, others, bits) => {
          const bytes = countries(networks, { recordBits: bits });
          const reader = new MmdbReader(bytes);
          const peer = new Reader<CountryResponse>(bytes);
          const asked = [...others, ...Object.keys(networks).map((network) => network.split("/")[0]!)];
          for (const one of asked) {
            if (one.startsWith("::") || one.startsWith("0:")) continue;
            const record = lookUp(reader, one);
            expect(record < 0 ? null : countryIn(reader, record)).toBe(peer.get(one)?.country?.iso_code ?? null);
          }
        },
      ),
      { numRuns: 200 },
    );
  });

  test("with wrong bytes is refused, or answers and ends, whatever they are", () => {
    const sound = [countries({ "192.0.2.0/24": "DE", "2001:db8::/32": "JP" }), networksOf({ "192.0.2.0/24": 64500 })];
    fc.assert(
      fc.property(
        fc.constantFrom(...sound),
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(255)), {
          maxLength: 12,
        }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        address,
        (bytes, changes, kept, asked) => {
          const broken = Uint8Array.from(bytes);
          for (const [at, byte] of changes) broken[Math.floor(at * broken.length)] = byte;
          const cut = kept < 0.2 ? broken.subarray(0, Math.floor(broken.length * (1 - kept))) : broken;
          let reader: MmdbReader;
          try {
            reader = new MmdbReader(cut);
          } catch (error) {
            expect((error as Error).constructor.name).toBe("MmdbFault");
            return;
          }
          for (const one of [asked, "192.0.2.1", "2001:db8::1"]) {
            const record = lookUp(reader, one);
            expect(countryIn(reader, record)).toMatch(/^([A-Z]{2})?$/);
            expect(asnIn(reader, record)).toBeWithin(0, 4_294_967_296);
          }
          for (const record of reader.someRecords(50)) countryIn(reader, record);
        },
      ),
      { numRuns: 3000 },
    );
  });
});
