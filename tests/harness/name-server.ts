import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/** What a name server under test knows of a name. */
export interface Zone {
  /** IPv4 addresses. */
  addresses: readonly string[];
  ttl: number;
}

const A = 1;
const SERVFAIL = 2;
const NXDOMAIN = 3;

/** A name server for tests: it answers questions for A records from `zones`. RFC 1035. */
export class NameServer {
  readonly zones: Map<string, Zone> = new Map();
  /** Questions for A records so far, by name. */
  readonly asked: string[] = [];
  /** Answers that it cannot answer. */
  isBroken = false;
  /** Does not answer at all. */
  isSilent = false;

  private constructor(private readonly socket: Socket) {
    socket.on("message", (query, from) => {
      const reply = this.answer(query);
      if (!this.isSilent) socket.send(reply, from.port, from.address);
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
    const zone = this.zones.get(name);
    const addresses = type === A && !this.isBroken ? (zone?.addresses ?? []) : [];
    const code = this.isBroken ? SERVFAIL : zone === undefined ? NXDOMAIN : 0;
    const head = Buffer.from([query[0]!, query[1]!, 0x81, 0x80 | code, 0, 1, 0, addresses.length, 0, 0, 0, 0]);
    return Buffer.concat([head, question, ...addresses.map((address) => record(address, zone!.ttl))]);
  }
}

function record(address: string, ttl: number): Buffer {
  const fixed = Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4]);
  fixed.writeUInt32BE(ttl, 6);
  return Buffer.concat([fixed, Buffer.from(address.split(".").map(Number))]);
}
