// Where clients are: server.geo, with a database of 65536 networks.
import { PlaceFinder } from "../../../src/features/geo/place-finder.ts";
import { countries, networksOf } from "../../harness/mmdb.ts";
import { bench } from "../micro.ts";

const NAMES = ["DE", "FR", "US", "JP"];
const networks = Array.from({ length: 65_536 }, (_, i) => `${1 + (i % 220)}.${i >> 8}.${i & 255}.0/24`);
const country = shared(countries(Object.fromEntries(networks.map((one, i) => [one, NAMES[i & 3]!]))));
const asn = shared(networksOf(Object.fromEntries(networks.map((one, i) => [one, i + 1]))));
const places = new PlaceFinder();
places.share({ geo: { country, asn: null } });
const both = new PlaceFinder();
both.share({ geo: { country, asn } });

let turn = 0;

/** Another address each time, more of them than are remembered. */
function nextAddress(): string {
  turn = (turn + 7919) & 0xffff;
  return `${1 + (turn % 220)}.${turn >> 8}.${turn & 255}.9`;
}

function shared(bytes: Buffer): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(bytes.length);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

bench("places: the country of an address that is remembered", () => places.countryOf("10.7.9.9").length);
bench("places: making an address, for comparison", () => nextAddress().length);
bench("places: the country of a new address", () => places.countryOf(nextAddress()).length);
bench("places: the country and the network of a new address", () => both.asnOf(nextAddress()));
