import { createHmac, randomInt, timingSafeEqual } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { connect } from "node:net";
import { hostAndPort } from "../../../core/ip-address.ts";
import { DNS_STEP_MS } from "./dns-responder.ts";

/** A key that a client and a name server share. RFC 8945 */
interface TsigKey {
  readonly hash: "sha256" | "sha384" | "sha512";
  readonly name: string;
  readonly secret: Buffer;
}

/** Reads `hmac-sha512:name:base64`; without the first part it is hmac-sha256. */
export function parseTsigKey(text: string): TsigKey {
  const [secret = "", name = "", algorithm = "hmac-sha256"] = text.split(":").reverse();
  return { hash: algorithm.slice("hmac-".length) as TsigKey["hash"], name, secret: Buffer.from(secret, "base64") };
}

/**
 * Dynamic updates of a zone (RFC 2136), over TCP, signed if there is a key, and with the signature of the response checked. The
 * package dns-packet was tried for the messages: it has neither the class NONE, which takes a record out, nor TSIG.
 */
export class DnsUpdates {
  private readonly address: () => Promise<string>;
  private readonly port: number;
  private readonly key: TsigKey | null;
  private readonly nowMs: () => number;

  /** @param address finds the server @param key null for a server that takes updates by address */
  constructor(address: () => Promise<string>, port: number, key: TsigKey | null, nowMs: () => number = Date.now) {
    this.address = address;
    this.port = port;
    this.key = key;
    this.nowMs = nowMs;
  }

  /** Adds a TXT record. @throws Error that says what the server had against it */
  add(name: string, value: string): Promise<void> {
    return this.update(name, textRecord(name, CLASS_IN, TTL_S, value));
  }

  /** Takes this TXT record out, and no other of the name. @throws Error */
  remove(name: string, value: string): Promise<void> {
    return this.update(name, textRecord(name, CLASS_NONE, 0, value));
  }

  private async update(name: string, record: Buffer): Promise<void> {
    const address = await this.address();
    const zone = await this.zoneOf(name, address);
    const id = randomInt(0x10000);
    const plain = Buffer.concat([header(id, 0), nameBytes(zone), u16(TYPE_SOA), u16(CLASS_IN), record]);
    const signed = this.key === null ? null : sign(plain, this.key, Math.floor(this.nowMs() / 1000));
    const response = await exchange(address, this.port, signed?.message ?? plain);
    if (response.length < HEADER_BYTES || response.readUInt16BE(0) !== id)
      throw new Error("the name server sent no response to it");
    const code = response[3]! & 0x0f;
    if (code !== 0)
      throw new Error(`the name server refused the update of ${zone}: ${RCODES[code] ?? `RCODE ${code}`}`);
    if (this.key !== null && !isSigned(response, this.key, signed!.mac)) {
      throw new Error("the name server's response is not signed with the key");
    }
  }

  /** The zone that a name is in: the nearest name above it that has an SOA record at this server. */
  private async zoneOf(name: string, address: string): Promise<string> {
    const resolver = new Resolver({ timeout: LOOK_TIMEOUT_MS, tries: 2 });
    resolver.setServers([hostAndPort(address, this.port)]);
    const labels = name.split(".");
    for (let from = 1; from < labels.length; from++) {
      const zone = labels.slice(from).join(".");
      if (
        await resolver.resolveSoa(zone).then(
          () => true,
          () => false,
        )
      )
        return zone;
    }
    throw new Error(`the name server has no zone for ${name}`);
  }
}

/** One message there and one back. RFC 1035 §4.2.2 */
function exchange(host: string, port: number, message: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: DNS_STEP_MS / 2 });
    let got: Buffer = Buffer.alloc(0);
    const fail = (error: Error): void => {
      socket.destroy();
      reject(error);
    };
    socket.on("connect", () => socket.write(Buffer.concat([u16(message.length), message])));
    socket.on("timeout", () => fail(new Error("the name server does not respond")));
    socket.on("error", fail);
    socket.on("close", () => reject(new Error("the name server closed the connection")));
    socket.on("data", (bytes: Buffer) => {
      got = Buffer.concat([got, bytes]);
      if (got.length < 2 || got.length < 2 + got.readUInt16BE(0)) return;
      resolve(got.subarray(2, 2 + got.readUInt16BE(0)));
      socket.destroy();
    });
  });
}

function header(id: number, additional: number): Buffer {
  const out = Buffer.alloc(HEADER_BYTES);
  out.writeUInt16BE(id, 0);
  out.writeUInt16BE(OPCODE_UPDATE << 11, 2);
  // One zone, no prerequisites, one update.
  out.writeUInt16BE(1, 4);
  out.writeUInt16BE(1, 8);
  out.writeUInt16BE(additional, 10);
  return out;
}

function textRecord(name: string, classOf: number, ttl: number, value: string): Buffer {
  const text = Buffer.from(value, "latin1");
  const data = Buffer.concat([Buffer.of(text.length), text]);
  return Buffer.concat([nameBytes(name), u16(TYPE_TXT), u16(classOf), u32(ttl), u16(data.length), data]);
}

/** A name on the wire, not compressed. */
function nameBytes(name: string): Buffer {
  const labels = name
    .toLowerCase()
    .split(".")
    .filter((label) => label !== "");
  return Buffer.concat([
    ...labels.flatMap((label) => [Buffer.of(label.length), Buffer.from(label, "latin1")]),
    Buffer.of(0),
  ]);
}

/** Adds a TSIG record. RFC 8945 §4.3 */
function sign(plain: Buffer, key: TsigKey, nowS: number): { readonly message: Buffer; readonly mac: Buffer } {
  const variables = tsigVariables(key, u48(nowS), u16(FUDGE_S), u16(0), Buffer.alloc(0));
  const mac = createHmac(key.hash, key.secret).update(plain).update(variables).digest();
  const data = Buffer.concat([
    nameBytes(`hmac-${key.hash}`),
    u48(nowS),
    u16(FUDGE_S),
    u16(mac.length),
    mac,
    plain.subarray(0, 2),
    u16(0),
    u16(0),
  ]);
  const record = Buffer.concat([nameBytes(key.name), u16(TYPE_TSIG), u16(CLASS_ANY), u32(0), u16(data.length), data]);
  const message = Buffer.concat([plain, record]);
  message.writeUInt16BE(1, 10);
  return { message, mac };
}

function tsigVariables(key: TsigKey, time: Buffer, fudge: Buffer, error: Buffer, other: Buffer): Buffer {
  return Buffer.concat([
    nameBytes(key.name),
    u16(CLASS_ANY),
    u32(0),
    nameBytes(`hmac-${key.hash}`),
    time,
    fudge,
    error,
    u16(other.length),
    other,
  ]);
}

/** Whether the response ends in a TSIG record of the key that is right for the request. RFC 8945 §5.3 */
function isSigned(response: Buffer, key: TsigKey, requestMac: Buffer): boolean {
  // Ours are never compressed in a TSIG record (RFC 8945 §4.2), so a search for its beginning finds it.
  const start = Buffer.concat([nameBytes(key.name), u16(TYPE_TSIG), u16(CLASS_ANY), u32(0)]);
  const at = response.toString("latin1").toLowerCase().lastIndexOf(start.toString("latin1"));
  const algorithm = nameBytes(`hmac-${key.hash}`);
  let from = at + start.length + 2 + algorithm.length;
  if (at < HEADER_BYTES || response.length < from + 16) return false;
  const time = response.subarray(from, from + 6);
  const fudge = response.subarray(from + 6, from + 8);
  const macLength = response.readUInt16BE(from + 8);
  from += 10;
  const mac = response.subarray(from, from + macLength);
  from += macLength + 2;
  if (mac.length !== macLength || response.length < from + 4) return false;
  const error = response.subarray(from, from + 2);
  const other = response.subarray(from + 4, from + 4 + response.readUInt16BE(from + 2));
  const plain = Buffer.from(response.subarray(0, at));
  plain.writeUInt16BE(plain.readUInt16BE(10) - 1, 10);
  const expected = createHmac(key.hash, key.secret)
    .update(Buffer.concat([u16(requestMac.length), requestMac, plain]))
    .update(tsigVariables(key, time, fudge, error, other))
    .digest();
  return mac.length === expected.length && timingSafeEqual(mac, expected);
}

function u16(value: number): Buffer {
  const out = Buffer.alloc(2);
  out.writeUInt16BE(value);
  return out;
}

function u32(value: number): Buffer {
  const out = Buffer.alloc(4);
  out.writeUInt32BE(value);
  return out;
}

function u48(value: number): Buffer {
  const out = Buffer.alloc(6);
  out.writeUIntBE(value, 0, 6);
  return out;
}

const HEADER_BYTES = 12;
const OPCODE_UPDATE = 5;
const TYPE_SOA = 6;
const TYPE_TXT = 16;
const TYPE_TSIG = 250;
const CLASS_IN = 1;
const CLASS_NONE = 254;
const CLASS_ANY = 255;
/** Seconds that a record is kept by resolvers: it is gone soon. */
const TTL_S = 60;
/** Seconds that the clocks of both may differ. */
const FUDGE_S = 300;
const LOOK_TIMEOUT_MS = 5000;
/** RFC 1035 §4.1.1, RFC 2136 §2.2, RFC 8945 §3 */
const RCODES: Readonly<Record<number, string>> = {
  1: "FORMERR",
  2: "SERVFAIL",
  3: "NXDOMAIN",
  4: "NOTIMP",
  5: "REFUSED",
  6: "YXDOMAIN",
  7: "YXRRSET",
  8: "NXRRSET",
  9: "NOTAUTH (the zone is not this server's, or the key is not known to it)",
  10: "NOTZONE",
};
