// Many connections from one address of this machine: a hostile client, or a crowd of harmless ones.
import { connect, type Socket } from "node:net";
import { eventually } from "./eventually.ts";

/** One connection of a crowd. */
export class Member {
  received = "";
  isClosed = false;
  private readonly socket: Socket;

  constructor(address: string, port: number, opened: () => void) {
    this.socket = connect({ host: "127.0.0.1", port, localAddress: address, noDelay: true }, opened);
    this.socket.on("data", (chunk) => {
      this.received += chunk.toString("latin1");
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.isClosed = true;
      opened();
    });
  }

  send(bytes: string | Uint8Array): void {
    this.socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
  }

  close(): void {
    this.socket.destroy();
  }

  /** The statuses of the answers over HTTP/1.1 so far. */
  get statuses(): number[] {
    return [...this.received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Waits for an answer over HTTP/1.1. */
  async status(): Promise<number> {
    await eventually(() => {
      if (this.statuses.length === 0) throw new Error(`no answer in ${JSON.stringify(this.received.slice(0, 200))}`);
    });
    return this.statuses[0]!;
  }
}

/** Opens so many connections from an address, a few hundred at a time, and sends the same bytes on each. */
export async function crowdFrom(
  address: string,
  port: number,
  count: number,
  bytes: string | Uint8Array,
): Promise<Member[]> {
  const members: Member[] = [];
  while (members.length < count) {
    const batch: Promise<void>[] = [];
    for (let i = 0; i < AT_ONCE && members.length < count; i++) {
      const opened = Promise.withResolvers<void>();
      members.push(new Member(address, port, opened.resolve));
      batch.push(opened.promise);
    }
    await Promise.all(batch);
    for (const member of members.slice(-batch.length)) member.send(bytes);
  }
  return members;
}

/** How many of a crowd got an answer with this status. */
export function countOf(crowd: readonly Member[], status: number): number {
  return crowd.filter(({ statuses }) => statuses.includes(status)).length;
}

const AT_ONCE = 250;
