import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, renameSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { Fault } from "../../../../src/core/fault.ts";
import { get, TestSite, trial } from "./test-site.ts";

const PIECE = 131072;
const site = new TestSite();
const content = Buffer.alloc(PIECE * 20 + 777);
for (let i = 0; i < content.length; i += 4) content.writeUInt32LE(i, Math.min(i, content.length - 4));

afterAll(() => site.dispose());
afterEach(() => {
  expect(site.openFiles()).toBe(0);
  site.deferred.length = 0;
});

/** Begins a download; the client takes so many pieces at first. */
function begin(name: string, takes: number, fields: Record<string, string> = {}) {
  site.write(name, content);
  const made = trial("GET", `/${name}`, fields);
  made.sink.takes = takes;
  site.mount().handle(made.ex);
  return made;
}

describe("a large file", () => {
  test("goes out whole, a turn at a time", () => {
    const { sink } = begin("big", Number.POSITIVE_INFINITY);
    expect([sink.status, sink.length, sink.ended]).toEqual([200, content.length, false]);
    let turns = 1;
    while (!sink.ended) {
      const before = sink.pieces;
      expect(site.deferred.length).toBe(1);
      site.deferred.pop()!();
      expect(sink.pieces - before).toBeLessThanOrEqual(4);
      turns++;
    }
    expect(turns).toBe(6);
    expect(sink.sent.equals(content)).toBe(true);
    expect(site.deferred.length).toBe(0);
  });

  test("waits for a slow client, one piece at a time", () => {
    const { ex, sink } = begin("slow", 1);
    expect(sink.pieces).toBe(1);
    for (let pieces = 2; !sink.ended; pieces++) {
      sink.release(ex, 1);
      expect(sink.pieces).toBe(pieces);
    }
    expect(sink.sent.equals(content)).toBe(true);
    expect(site.deferred.length).toBe(0);
  });

  test("HEAD opens nothing and sends nothing", () => {
    site.write("big", content);
    const { ex, sink } = trial("HEAD", "/big");
    site.mount().handle(ex);
    expect([sink.status, sink.length, sink.pieces, sink.ended]).toEqual([200, content.length, 0, true]);
  });

  test("a client that goes away closes the file", () => {
    const { ex, sink } = begin("gone", 2);
    ex.source.onCancelled(ex);
    ex.source.onWritable(ex);
    ex.source.onCancelled(ex);
    expect([sink.pieces, sink.ended, sink.fault]).toEqual([2, false, null]);
  });

  test("a client that goes away while others have their turn", () => {
    const { ex, sink } = begin("gone", Number.POSITIVE_INFINITY);
    ex.source.onCancelled(ex);
    site.deferred.pop()!();
    expect([sink.pieces, sink.ended]).toEqual([4, false]);
  });

  test("a client that goes away while a piece is handed over", () => {
    site.write("gone", content);
    const { ex, sink } = trial("GET", "/gone");
    sink.onPiece = (piece) => {
      if (piece === 1) ex.source.onCancelled(ex);
    };
    site.mount().handle(ex);
    expect([sink.pieces, sink.ended, sink.fault]).toEqual([2, false, null]);
  });

  test("a wake-up while others have their turn changes nothing", () => {
    const { ex, sink } = begin("big", Number.POSITIVE_INFINITY);
    ex.source.onWritable(ex);
    expect(sink.pieces).toBe(4);
    while (site.deferred.length > 0) site.deferred.pop()!();
    expect(sink.sent.equals(content)).toBe(true);
  });
});

describe("a file that changes while it is served", () => {
  test("shrinks: the reply is cut", () => {
    const { ex, sink } = begin("shrinks", 2);
    truncateSync(`${site.dir}/shrinks`, PIECE * 2 + 5);
    sink.release(ex, 5);
    expect([sink.fault, sink.ended]).toEqual([Fault.InternalError, false]);
    expect(sink.sent.length).toBeLessThan(content.length);
  });

  test("is emptied: the reply is cut", () => {
    const { ex, sink } = begin("emptied", 1);
    truncateSync(`${site.dir}/emptied`, 0);
    sink.release(ex, 5);
    expect(sink.fault).toBe(Fault.InternalError);
  });

  test("is written anew in place: the reply is cut before its last byte", () => {
    const { ex, sink } = begin("rewritten", 3);
    writeFileSync(`${site.dir}/rewritten`, Buffer.alloc(content.length, 1));
    for (let i = 0; i < 30 && sink.fault === null; i++) sink.release(ex, 1);
    expect(sink.fault).toBe(Fault.InternalError);
    expect(sink.sent.length).toBeLessThan(content.length);
  });

  test("grows: the reply is never longer than announced, and is cut", () => {
    const { ex, sink } = begin("grows", 3);
    appendFileSync(`${site.dir}/grows`, "more");
    for (let i = 0; i < 30 && sink.fault === null; i++) sink.release(ex, 1);
    expect(sink.fault).toBe(Fault.InternalError);
  });

  test("is replaced by another file: the old one goes out whole", () => {
    const { ex, sink } = begin("replaced", 3);
    site.write("replacement", "new");
    renameSync(`${site.dir}/replacement`, `${site.dir}/replaced`);
    for (let i = 0; i < 30 && !sink.ended; i++) sink.release(ex, 1);
    expect(sink.sent.equals(content)).toBe(true);
  });

  test("is deleted: it goes out whole", () => {
    const { ex, sink } = begin("deleted", 3);
    unlinkSync(`${site.dir}/deleted`);
    for (let i = 0; i < 30 && !sink.ended; i++) sink.release(ex, 1);
    expect(sink.sent.equals(content)).toBe(true);
  });

  test("a part behind the new end is cut", () => {
    const { ex, sink } = begin("part", 1, { Range: `bytes=${PIECE}-${PIECE * 5}` });
    expect([sink.status, sink.length]).toEqual([206, PIECE * 4 + 1]);
    truncateSync(`${site.dir}/part`, 10);
    sink.release(ex, 9);
    expect(sink.fault).toBe(Fault.InternalError);
  });

  test("between two requests: the next one gets the new file and its tag", () => {
    const handler = site.mount();
    site.write("between", content);
    const before = trial("HEAD", "/between");
    handler.handle(before.ex);
    site.write("between", Buffer.alloc(100_000, 2));
    const after = get(handler, "/between");
    expect([after.length, after.sent.length]).toEqual([100_000, 100_000]);
    expect(after.field("ETag")).not.toBe(before.sink.field("ETag"));
  });

  test("a large file that became small, and one that went away", () => {
    const handler = site.mount();
    site.write("between", content);
    trial("HEAD", "/between");
    handler.handle(trial("HEAD", "/between").ex);
    site.write("between", "small");
    expect(get(handler, "/between").text).toBe("small");
    site.write("between", content);
    site.wait(1000);
    handler.handle(trial("HEAD", "/between").ex);
    unlinkSync(`${site.dir}/between`);
    expect(get(handler, "/between").status).toBe(404);
  });
});
