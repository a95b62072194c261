import { expect, test } from "bun:test";
import { StreamHandler, Watchers } from "../../../../src/features/dashboard/watchers.ts";
import { fakeExchange } from "../telemetry/exchange-fake.ts";

/** A watcher whose client takes one event and then nothing, until it is told to. */
function setUp(answer: { status: number; body: string } | null) {
  const counts: number[] = [];
  const watchers = new Watchers((count) => counts.push(count));
  const guard = { admits: () => true, admitsShell: () => true };
  let give = (): void => {};
  const handler = new StreamHandler(
    guard,
    (answered) => {
      give = () => answered(answer?.status ?? 200, "application/json", answer?.body ?? "{}");
    },
    watchers,
  );
  const { ex } = fakeExchange();
  const calls: string[] = [];
  ex.sink = {
    ...ex.sink,
    head: () => void calls.push("head"),
    body: (_, bytes) => {
      calls.push(Buffer.from(bytes).toString());
      return false;
    },
    end: () => void calls.push("end"),
    fixed: (_, reply) => void calls.push(`fixed ${reply.status}`),
  };
  handler.handle(ex);
  return { watchers, counts, calls, ex, give: () => give() };
}

test("events are dropped while the client does not take them, and the next one is whole", () => {
  const { watchers, calls, ex, give } = setUp(null);
  give();
  watchers.send('{"a":1}');
  watchers.send('{"a":2}');
  ex.source.onWritable(ex);
  watchers.send('{"a":3}');
  expect(calls).toEqual(["head", "data: {}\n\n", 'data: {"a":3}\n\n']);
  watchers.stop();
  expect(calls.at(-1)).toBe("end");
});

test("a client that left before the first event is counted no more, and gets nothing", () => {
  const { counts, calls, ex, give } = setUp(null);
  ex.source.onCancelled(ex);
  give();
  expect([calls, counts.at(-1)]).toEqual([[], 0]);
});

test("a refusal is no watcher", () => {
  const { counts, calls, give } = setUp({ status: 503, body: "{}" });
  give();
  expect([calls, counts]).toEqual([["fixed 503"], []]);
});

test("a stream that begins while the gateway drains ends with its first event's head", () => {
  const { watchers, calls, give } = setUp(null);
  watchers.stop();
  give();
  expect(calls).toEqual(["head", "end"]);
});
