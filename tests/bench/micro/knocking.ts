// Bans, fingerprints and signatures of agents. docs/bans.md, docs/fingerprints.md, docs/agents.md
import { createHash, generateKeyPairSync, sign, verify } from "node:crypto";
import { BanKey } from "../../../src/features/bans/ban-key.ts";
import { buildNetworkTable, merged, NetworkTable, NO_INTERVALS } from "../../../src/features/bans/network-table.ts";
import { ja4 } from "../../../src/proto/tls/ja4.ts";
import { helloMessage, protocolNames, serverName, signatureSchemes } from "../../unit/proto/tls/hello-bytes.ts";
import { bench } from "../micro-registry.ts";

const ADDRESSES = 1024;

const random = (i: number): number => createHash("sha256").update(String(i)).digest().readUInt32LE();
const from = new Uint32Array(1_000_000).map((_, i) => i * 4096 + 1);
const table = new NetworkTable(buildNetworkTable(merged([{ v4: { from, to: from }, v6: NO_INTERVALS.v6 }])));
const texts = Array.from({ length: ADDRESSES }, (_, i) => {
  const address = random(i);
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
});
const key = new BanKey();
bench(
  "bans: an address among a million networks",
  () => {
    let found = 0;
    for (const text of texts) if (key.read(text) && table.has(key)) found++;
    return found;
  },
  ADDRESSES,
);

/** As browsers shuffle them: another order of extensions each time. */
const hellos = Array.from({ length: 256 }, (_, i) => {
  const others = Array.from({ length: 12 }, (_, at): [number, Buffer] => [100 + at, Buffer.alloc(8)]);
  const extensions = [serverName("shop.example"), protocolNames("h2", "http/1.1"), signatureSchemes(0x0403, 0x0804)];
  return helloMessage({ extensions: [...others.slice(i % 12), ...extensions, ...others.slice(0, i % 12)] });
});
bench(
  "fingerprints: JA4 of a handshake",
  () => {
    let length = 0;
    for (const hello of hellos) length += ja4(hello).length;
    return length;
  },
  hellos.length,
);

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const base = Buffer.from(`"@authority": shop.example\n"@signature-params": ("@authority")${";a=1".repeat(60)}`);
const signature = sign(null, base, privateKey);
bench("agents: a signature is verified", () => Number(verify(null, base, publicKey, signature)));
