import { expect, test } from "bun:test";
import { SlabPool, SocketWriter, WriterGroup } from "../../../src/net/socket-buffers.ts";
import { FakeSocket } from "./fake-socket.ts";

const CHUNK = 100_000;

class Peers {
  readonly group = new WriterGroup(new SlabPool());
  abandoned = 0;

  constructor(limit: number) {
    this.group.unsent.limit = limit;
    this.group.unsent.onAbandoned = () => this.abandoned++;
  }

  /** A peer that takes `room` bytes of a chunk. */
  add(room: number): { socket: FakeSocket; writer: SocketWriter } {
    const socket = new FakeSocket();
    socket.room = room;
    const writer = new SocketWriter(socket, this.group, { onBlocked() {} });
    writer.write(Buffer.allocUnsafeSlow(CHUNK), 0, CHUNK);
    return { socket, writer };
  }
}

const isCut = ({ socket }: { socket: FakeSocket }) => socket.calls.includes("terminate");

test("those who have taken nothing for longest are cut, and no more than it takes", () => {
  const peers = new Peers(3 * CHUNK);
  const [first, second, third] = [peers.add(10), peers.add(10), peers.add(10)];
  peers.group.flushAll();
  expect([peers.group.unsent.total, peers.abandoned]).toEqual([3 * CHUNK, 0]);
  first.socket.room = 1;
  first.writer.onDrain();
  const fourth = peers.add(10);
  peers.group.flushAll();
  expect([first, second, third, fourth].map(isCut)).toEqual([false, true, false, false]);
  expect([peers.group.unsent.total, peers.abandoned]).toEqual([3 * CHUNK, 1]);
});

test("a peer that takes nothing does not move behind others by being asked", () => {
  const peers = new Peers(2 * CHUNK);
  const [first, second] = [peers.add(10), peers.add(10)];
  first.writer.onDrain();
  peers.add(10);
  peers.group.flushAll();
  expect([first, second].map(isCut)).toEqual([true, false]);
});

test("a view counts as the chunk that it keeps alive", () => {
  const peers = new Peers(10 * CHUNK);
  peers.add(CHUNK / 3);
  expect(peers.group.unsent.total).toBe(CHUNK);
});

test("a small rest does not keep its chunk alive", () => {
  const peers = new Peers(10 * CHUNK);
  const { socket, writer } = peers.add(CHUNK - 1000);
  expect(peers.group.unsent.total).toBe(1000);
  socket.room = 2000;
  expect([writer.onDrain(), socket.sent.length]).toEqual([true, CHUNK]);
});

test("what is sent or closed counts no more", () => {
  const peers = new Peers(10 * CHUNK);
  const [first, second, third] = [peers.add(10), peers.add(10), peers.add(CHUNK)];
  first.socket.room = Number.POSITIVE_INFINITY;
  second.writer.write(Buffer.alloc(CHUNK), 0, CHUNK);
  expect(peers.group.unsent.total).toBe(3 * CHUNK);
  expect(first.writer.onDrain()).toBe(true);
  expect(peers.group.unsent.total).toBe(2 * CHUNK);
  second.socket.room = CHUNK;
  expect(second.writer.onDrain()).toBe(false);
  expect(peers.group.unsent.total).toBe(CHUNK);
  second.writer.close();
  third.writer.close();
  expect(peers.group.unsent.total).toBe(0);
});

test("what stands in shared memory, as a stored answer does, is not counted again for each reader", () => {
  const peers = new Peers(CHUNK);
  const writer = new SocketWriter(peers.add(CHUNK).socket, peers.group, { onBlocked() {} });
  writer.write(new Uint8Array(new SharedArrayBuffer(20 * CHUNK), 0, CHUNK), 0, CHUNK);
  expect(writer.blocked).toBe(true);
  expect(peers.group.unsent.total).toBe(0);
});
