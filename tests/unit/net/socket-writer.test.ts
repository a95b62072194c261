import { describe, expect, test } from "bun:test";
import { MAX_FREE_SLABS, SLAB_BYTES, SlabPool, SocketWriter, WriterGroup } from "../../../src/net/socket-buffers.ts";
import { FakeSocket } from "./fake-socket.ts";

function writerOn(socket: FakeSocket, group = new WriterGroup(new SlabPool())) {
  return { writer: new SocketWriter(socket, group, { onBlocked() {} }), group };
}

function put(writer: SocketWriter, text: string): boolean {
  const bytes = Buffer.from(text, "latin1");
  return writer.write(bytes, 0, bytes.length);
}

describe("a writer", () => {
  test("gathers the small writes of a turn", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    put(writer, "a");
    put(writer, "b");
    expect([socket.writes, writer.isEmpty()]).toEqual([0, false]);
    group.flushAll();
    expect([socket.writes, socket.text, writer.isEmpty()]).toEqual([1, "ab", true]);
    group.flushAll();
    expect(socket.writes).toBe(1);
  });

  test("sends large writes at once and in order", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    put(writer, "a");
    expect(put(writer, "x".repeat(SLAB_BYTES))).toBe(true);
    put(writer, "b");
    group.flushAll();
    expect(socket.text).toBe(`a${"x".repeat(SLAB_BYTES)}b`);
    expect(socket.writes).toBe(3);
  });

  test("keeps what the kernel refuses, and says so", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    socket.room = 5;
    expect(put(writer, "x".repeat(SLAB_BYTES + 1))).toBe(false);
    expect(put(writer, "y")).toBe(false);
    expect(writer.blocked).toBe(true);
    group.flushAll();
    expect(socket.text).toBe("xxxxx");
    socket.room = 100;
    expect(writer.onDrain()).toBe(false);
    socket.room = Number.POSITIVE_INFINITY;
    expect(writer.onDrain()).toBe(true);
    expect(socket.text).toBe(`${"x".repeat(SLAB_BYTES + 1)}y`);
    expect([writer.blocked, writer.isEmpty()]).toEqual([false, true]);
  });

  test("that found the kernel full at the end of a turn says so with the next write", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    socket.room = 0;
    expect(put(writer, "a")).toBe(true);
    group.flushAll();
    expect(put(writer, "b")).toBe(false);
    socket.room = Number.POSITIVE_INFINITY;
    writer.onDrain();
    expect(socket.text).toBe("ab");
  });

  test("makes a buffer of its own for what no slab holds", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    put(writer, "a");
    const out = writer.reserve(SLAB_BYTES * 2);
    expect(out.length - writer.offset).toBeGreaterThanOrEqual(SLAB_BYTES * 2);
    out.fill("z", writer.offset, writer.offset + SLAB_BYTES * 2);
    writer.commit(writer.offset + SLAB_BYTES * 2);
    group.flushAll();
    expect(socket.text).toBe(`a${"z".repeat(SLAB_BYTES * 2)}`);
  });

  test("whose socket is gone takes everything and sends nothing", () => {
    const socket = new FakeSocket();
    const { writer, group } = writerOn(socket);
    socket.isGone = true;
    put(writer, "a");
    group.flushAll();
    expect(writer.closed).toBe(true);
    expect(put(writer, "x".repeat(SLAB_BYTES * 2))).toBe(true);
    writer.copy(Buffer.from("b"), 0, 1);
    group.flushAll();
    expect([socket.text, writer.onDrain()]).toEqual(["", true]);
  });

  test("flushes only those that have something", () => {
    const group = new WriterGroup(new SlabPool());
    const sockets = [new FakeSocket(), new FakeSocket(), new FakeSocket()];
    const [a, , c] = sockets.map((socket) => writerOn(socket, group).writer);
    put(a!, "a");
    put(c!, "c");
    group.flushAll();
    expect(sockets.map((socket) => socket.text)).toEqual(["a", "", "c"]);
    expect(sockets.map((socket) => socket.writes)).toEqual([1, 0, 1]);
  });
});

describe("the slab pool", () => {
  test("gives the same buffers out again, but not more than it may keep, and no foreign ones", () => {
    const pool = new SlabPool();
    const first = pool.take();
    expect(first.length).toBe(SLAB_BYTES);
    pool.give(first);
    expect(pool.take()).toBe(first);
    pool.give(Buffer.alloc(5));
    expect(pool.take().length).toBe(SLAB_BYTES);
    const many = Array.from({ length: MAX_FREE_SLABS + 10 }, () => pool.take());
    for (const slab of many) pool.give(slab);
    const again = Array.from({ length: MAX_FREE_SLABS + 10 }, () => pool.take());
    expect(again.filter((slab) => many.includes(slab)).length).toBe(MAX_FREE_SLABS);
  });
});
