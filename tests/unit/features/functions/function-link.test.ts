// What a data worker makes of what threads of functions say, and of their deaths.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  FunctionLink,
  type LinkCall,
  type OverdueCall,
  type ThreadDeath,
} from "../../../../src/features/functions/function-link.ts";
import { readResponseRecord } from "../../../../src/features/functions/response-record.ts";
import {
  Batch,
  createCells,
  type FunctionLine,
  Records,
  WireCell,
  WireWord,
} from "../../../../src/features/functions/wire.ts";

/** A link whose thread is a function that is called with what it sends. */
function linkOf(cells: SharedArrayBuffer = createCells(1)) {
  const broken: number[] = [];
  const overdue: OverdueCall[] = [];
  const lines: string[] = [];
  const port = { onmessage: null as ((event: { data: unknown }) => void) | null, postMessage() {}, close() {} };
  const ports = {
    inTurn: (work: () => void) => work(),
    onException() {},
    onBroken: (thread: number) => broken.push(thread),
    onOverdue: (_: number, call: OverdueCall) => overdue.push(call),
    onLine: (module: string, { fields }: FunctionLine) => lines.push(`${module} ${fields.message}`),
  };
  const link = new FunctionLink(
    { thread: 7, module: "m.ts" },
    port as unknown as MessagePort,
    cells,
    0,
    ports,
    () => {},
  );
  return { link, broken, overdue, lines, say: (data: unknown) => port.onmessage!({ data }) };
}

function callOf(deaths: ThreadDeath[] = []): LinkCall & { readonly got: WireWord[] } {
  const got: WireWord[] = [];
  return {
    got,
    onRecord(word, records) {
      got.push(word);
      if (word === WireWord.Response) readResponseRecord(records);
      else if (word === WireWord.Body) records.bytes();
      else if (word === WireWord.Taken || word === WireWord.Failed) records.number();
      else if (word !== WireWord.End && word !== WireWord.Fault) throw new Error("an unknown word");
    },
    onPiece: (bytes) => void bytes.length,
    onDeath: (death) => void deaths.push(death),
  };
}

test("a call whose time is over is told of where the thread runs that very call", () => {
  const buffer = createCells(2);
  const cells = new Int32Array(buffer);
  const { link, overdue } = linkOf(buffer);
  const [waits, runs] = [link.open(callOf()), link.open(callOf())];
  Atomics.store(cells, WireCell.Current, runs);
  link.overdue(waits, 1000);
  Atomics.store(cells, WireCell.CurrentWorker, 1);
  link.overdue(runs, 1000);
  expect(overdue).toEqual([]);
  Atomics.store(cells, WireCell.CurrentWorker, 0);
  link.overdue(runs, 1000);
  expect(overdue).toEqual([{ id: runs, timeoutMs: 1000 }]);
});

describe("what a thread says", () => {
  test.each<[string, unknown]>([
    ["a record without its end", "R2"],
    ["a record that breaks off among its fields", "R2\n200\n3\nx-a\n1\n"],
    ["more fields than there are", "R2\n200\n999999999\nx-a\n1\n"],
    ["a status that is no number", "R2\nok\n0\n-1\n0\n"],
    ["a length beyond the batch", "B2\n99999999999\nabc"],
    ["a negative length", "B2\n-1\nabc"],
    ["a number of bytes that is none", "W2\n-1e9\n"],
    ["a word that is none", "?2\n"],
    ["a record of a call that is over, broken off", "R8\n200"],
    ["a piece that is none", [2, "text"]],
    ["nothing", undefined],
    ["an object", {}],
  ])("%s: the thread is broken, and the worker goes on", (_, data) => {
    const { link, broken, say } = linkOf();
    link.open(callOf());
    say(data);
    expect(broken).toEqual([7]);
  });

  test("a line for the log is logged, whether or not its call is over", () => {
    const { link, lines, broken, say } = linkOf();
    const batch = new Batch();
    for (const id of [link.open(callOf()), 8]) {
      batch.begin(WireWord.Log, id);
      batch.raw(JSON.stringify({ event: "function_log", level: "info", fields: { message: `of ${id}` } }));
    }
    say(batch.take());
    expect([lines, broken]).toEqual([["m.ts of 2", "m.ts of 8"], []]);
  });

  test("whatever it is, reading it ends", () => {
    const batch = new Batch();
    batch.begin(WireWord.Response, 2);
    for (const line of [200, 1, "x-a", "1", 5, "1"]) batch.line(line);
    batch.raw("hello");
    batch.begin(WireWord.End, 2);
    const good = batch.take();
    const edits = fc.array(fc.record({ at: fc.nat(good.length), cut: fc.nat(9), text: fc.string({ maxLength: 9 }) }));
    fc.assert(
      fc.property(edits, (places) => {
        let text = good;
        for (const { at, cut, text: added } of places) text = text.slice(0, at) + added + text.slice(at + cut);
        const { link, say } = linkOf();
        const call = callOf();
        link.open(call);
        say(text);
        expect(call.got.length).toBeLessThanOrEqual(text.length);
      }),
    );
    const records = new Records(good);
    expect([records.next(), readResponseRecord(records).body?.toString(), records.next(), records.next()]).toEqual([
      true,
      "hello",
      true,
      false,
    ]);
  });
});

describe("the death of a thread", () => {
  test("calls that it had begun are told apart from the others", () => {
    const cells = createCells(1);
    const { link } = linkOf(cells);
    const deaths: ThreadDeath[] = [];
    const ids = [1, 2, 3].map(() => link.open(callOf(deaths)));
    Atomics.store(new Int32Array(cells), WireCell.Begun, ids[1]!);
    link.die({ worker: 0, id: ids[1]! });
    expect(deaths).toEqual([
      { hasBegun: true, isCulprit: false },
      { hasBegun: true, isCulprit: true },
      { hasBegun: false, isCulprit: false },
    ]);
  });

  test("what the thread had begun of a data worker that died is none of the next one's calls", () => {
    const cells = createCells(1);
    Atomics.store(new Int32Array(cells), WireCell.Begun, 2000);
    const { link } = linkOf(cells);
    const deaths: ThreadDeath[] = [];
    link.open(callOf(deaths));
    link.die({ worker: -1, id: -1 });
    expect(deaths).toEqual([{ hasBegun: false, isCulprit: false }]);
  });

  test("numbers begin anew beyond 31 bits, without one that is in use", () => {
    const cells = createCells(1);
    const begun = new Int32Array(cells);
    Atomics.store(begun, WireCell.Begun, 0x7ffffffa);
    const { link } = linkOf(cells);
    const deaths: ThreadDeath[] = [];
    const ids = Array.from({ length: 4 }, () => link.open(callOf(deaths)));
    expect(ids).toEqual([0x7ffffffc, 0x7ffffffe, 2, 4]);
    Atomics.store(begun, WireCell.Begun, 2);
    link.die({ worker: -1, id: -1 });
    expect(deaths.map(({ hasBegun }) => hasBegun)).toEqual([true, true, true, false]);
  });
});
