import { expect, test } from "bun:test";
import type { ClientConnection } from "../../../src/edge/client-connection.ts";
import { ConnectionSet } from "../../../src/edge/client-socket.ts";

class Connection implements ClientConnection {
  place = -1;
  drained = 0;
  private readonly set: ConnectionSet;
  private readonly closesAtOnce: boolean;

  constructor(set: ConnectionSet, closesAtOnce: boolean) {
    this.set = set;
    this.closesAtOnce = closesAtOnce;
    set.add(this);
  }

  idleMs(): number {
    return -1;
  }
  closeIdle(): void {}
  drain(): void {
    this.drained++;
    if (this.closesAtOnce) this.set.delete(this);
  }

  onData(): void {}
  onDrain(): void {}
  onEnd(): void {}
  onClose(): void {}
  onException(): void {}
}

test.each(["", "0", "9", "09", "4", "0123456789", "13579"])(
  "every connection is drained once while %p close",
  (closing) => {
    const set = new ConnectionSet();
    const all = [...Array(10).keys()].map((i) => new Connection(set, closing.includes(String(i))));
    set.drain();
    expect(all.map((one) => one.drained)).toEqual(Array(10).fill(1));
    expect(set.size).toBe(10 - closing.length);
  },
);

test("connections are deleted in any order, and twice without harm", () => {
  const set = new ConnectionSet();
  const all = [...Array(5).keys()].map(() => new Connection(set, false));
  for (const index of [2, 4, 2, 0, 4]) set.delete(all[index]);
  set.delete(undefined);
  expect(set.size).toBe(2);
  set.drain();
  expect(all.map((one) => one.drained)).toEqual([0, 1, 0, 1, 0]);
});
