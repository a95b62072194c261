import { expect, test } from "bun:test";
import { PlaceFinder } from "../../../../src/features/geo/place-finder.ts";
import { countries, networksOf } from "../../../harness/mmdb.ts";

function shared(bytes: Buffer): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

const COUNTRY = shared(countries({ "192.0.2.0/24": "DE", "2001:db8::/32": "JP" }));
const ASN = shared(networksOf({ "192.0.2.0/25": 64500 }));

test("places are those of the databases in use, remembered or not", () => {
  const places = new PlaceFinder();
  const found = () =>
    ["192.0.2.1", "2001:db8::1", "198.51.100.1"].map((one) => [places.countryOf(one), places.asnOf(one)]);
  const nowhere = [
    ["", 0],
    ["", 0],
    ["", 0],
  ];
  expect(found()).toEqual(nowhere);
  places.share({ geo: { country: COUNTRY, asn: ASN } });
  for (let i = 0; i < 2; i++) {
    expect(found()).toEqual([
      ["DE", 64500],
      ["JP", 0],
      ["", 0],
    ]);
  }
  places.share({ geo: { country: shared(countries({ "192.0.2.0/24": "FR" })), asn: null } });
  expect(found()).toEqual([["FR", 0], ...nowhere.slice(1)]);
  places.share({ geo: { country: null, asn: null } });
  expect(found()).toEqual(nowhere);
});

test("what is no address is nowhere", () => {
  const places = new PlaceFinder();
  places.share({ geo: { country: shared(countries({ "0.0.0.0/0": "DE" })), asn: null } });
  for (const text of ["", "unknown", "192.0.2", "192.0.2.1:80", "010.0.0.1", "[::1]", "::1\n"]) {
    expect(places.countryOf(text)).toBe("");
  }
  expect(places.countryOf("::ffff:192.0.2.1")).toBe("DE");
});

test("however many addresses come, each has its own", () => {
  const networks = Object.fromEntries(
    Array.from({ length: 26 }, (_, i) => [`10.${i}.0.0/16`, `A${String.fromCharCode(65 + i)}`]),
  );
  const places = new PlaceFinder();
  places.share({ geo: { country: shared(countries(networks)), asn: null } });
  for (let i = 0; i < 20_000; i++) {
    const second = (i * 7) % 26;
    expect(places.countryOf(`10.${second}.${i >> 8}.${i & 255}`)).toBe(networks[`10.${second}.0.0/16`]!);
  }
});
