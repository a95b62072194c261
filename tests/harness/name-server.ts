import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** What a name server under test knows of a name. */
export interface Zone {
  /** IPv4 addresses, and IPv6 ones, written out in full. */
  addresses: readonly string[];
  ttl: number;
}

const A = 1;
const PTR = 12;
const SRV = 33;
const AAAA = 28;
const SERVFAIL = 2;
const NXDOMAIN = 3;

/** A name server for tests: it answers questions for A records from `zones`, for PTR records from `pointers`, for SRV records from `services`. RFC 1035. */
export class NameServer {
  readonly zones: Map<string, Zone> = new Map();
  /** Names of addresses, by their names in the reverse tree. */
  readonly pointers: Map<string, readonly string[]> = new Map();
  /** SRV records, by the names of their services. */
  readonly services: Map<string, { readonly ttl: number; readonly records: readonly Server[] }> = new Map();
  /** Questions for SRV records so far. */
  readonly servicesAsked: string[] = [];
  /** Questions for PTR records so far. */
  readonly reversed: string[] = [];
  /** Questions for A records so far, by name. */
  readonly asked: string[] = [];
  /** Answers that it cannot answer. */
  isBroken = false;
  /** Does not answer at all. */
  isSilent = false;
  /** Answers so many milliseconds late. */
  delayMs = 0;

  private constructor(private readonly socket: Socket) {
    socket.on("message", (query, from) => {
      const reply = this.answer(query);
      if (this.isSilent) return;
      if (this.delayMs === 0) socket.send(reply, from.port, from.address);
      else setTimeout(() => socket.send(reply, from.port, from.address, () => {}), this.delayMs);
    });
  }

  static async start(): Promise<NameServer> {
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    return new NameServer(socket);
  }

  get address(): string {
    return `127.0.0.1:${(this.socket.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.socket.close();
  }

  private answer(query: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = query.readUInt16BE(at + 1);
    const question = query.subarray(12, at + 5);
    const name = labels.join(".").toLowerCase();
    if (type === A) this.asked.push(name);
    if (type === PTR) {
      this.reversed.push(name);
      const records = this.isBroken ? [] : (this.pointers.get(name) ?? []).map(pointer);
      const code = this.isBroken ? SERVFAIL : records.length === 0 ? NXDOMAIN : 0;
      return Buffer.concat([headOf(query, code, records.length), question, ...records]);
    }
    if (type === SRV) {
      this.servicesAsked.push(name);
      const { ttl, records } = (this.isBroken ? undefined : this.services.get(name)) ?? { ttl: 0, records: [] };
      const code = this.isBroken ? SERVFAIL : records.length === 0 ? NXDOMAIN : 0;
      return Buffer.concat([headOf(query, code, records.length), question, ...records.map((one) => server(one, ttl))]);
    }
    const zone = this.zones.get(name);
    const known = this.isBroken ? [] : (zone?.addresses ?? []);
    const addresses = known.filter((one) => type === (one.includes(":") ? AAAA : A));
    const code = this.isBroken ? SERVFAIL : zone === undefined ? NXDOMAIN : 0;
    return Buffer.concat([
      headOf(query, code, addresses.length),
      question,
      ...addresses.map((address) => record(address, zone!.ttl)),
    ]);
  }
}

function headOf(query: Buffer, code: number, answers: number): Buffer {
  return Buffer.from([query[0]!, query[1]!, 0x81, 0x80 | code, 0, 1, answers >> 8, answers & 255, 0, 0, 0, 0]);
}

/** One server of a service. */
interface Server {
  readonly host: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

function server({ host, port, priority, weight }: Server, ttl: number): Buffer {
  const fixed = Buffer.from([0xc0, 12, 0, SRV, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
  const target = nameBytes(host);
  fixed.writeUInt32BE(ttl, 6);
  fixed.writeUInt16BE(6 + target.length, 10);
  for (const [i, value] of [priority, weight, port].entries()) fixed.writeUInt16BE(value, 12 + 2 * i);
  return Buffer.concat([fixed, target]);
}

function nameBytes(name: string): Buffer {
  const labels = name.split(".").flatMap((label) => [Buffer.of(label.length), Buffer.from(label)]);
  return Buffer.concat([...labels, Buffer.of(0)]);
}

function pointer(name: string): Buffer {
  const data = nameBytes(name);
  const fixed = Buffer.from([0xc0, 12, 0, PTR, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([fixed, data]);
}

function record(address: string, ttl: number): Buffer {
  const octets = address.includes(":")
    ? Buffer.from(address.replaceAll(":", ""), "hex")
    : Buffer.from(address.split(".").map(Number));
  const fixed = Buffer.from([0xc0, 12, 0, octets.length === 4 ? A : AAAA, 0, 1, 0, 0, 0, 0, 0, octets.length]);
  fixed.writeUInt32BE(ttl, 6);
  return Buffer.concat([fixed, octets]);
}
