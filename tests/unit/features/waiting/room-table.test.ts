import { expect, test } from "bun:test";
import {
  createRoomTable,
  RoomCount,
  type RoomStanding,
  RoomTable,
} from "../../../../src/features/waiting/room-table.ts";
import { SeededRandom } from "../../../harness/seeded-random.ts";

interface Guest {
  readonly tag: number;
  standing: RoomStanding;
  lastAt: number;
}

test("whatever visitors do: never one too many, the first to come is the first to come in, and nothing is lost", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new SeededRandom(seed);
    const pick = (count: number) => random.integer(0, count - 1);
    const bounds = { active: 1 + pick(9), queue: pick(20), session: 4, patience: 3, perAddress: 6 };
    const size = { active: bounds.active, queue: bounds.queue };
    const owner = createRoomTable(size);
    let views = [new RoomTable(owner.buffer, size), new RoomTable(owner.buffer, size)];
    const waiting: Guest[] = [];
    const inside: Guest[] = [];
    let [now, tag] = [100, 0];
    for (let step = 0; step < 600; step++) {
      const view = views[pick(2)]!;
      const what = pick(10);
      if (what < 3) {
        const standing = view.enter(++tag, pick(1000), now, bounds);
        if (standing.is === "in") {
          // Nobody comes in before those who wait.
          const passed = waiting.filter((guest) => {
            const { ticket } = guest.standing as { ticket: number };
            const found = view.standing(ticket, guest.tag, now, bounds);
            if (found !== null) guest.lastAt = now;
            return found?.is === "waiting";
          });
          expect(passed).toEqual([]);
          inside.push({ tag, standing, lastAt: now });
        } else if (standing.is === "waiting") waiting.push({ tag, standing, lastAt: now });
        else if (standing.cause === "full")
          expect(view.waiting).toBeGreaterThanOrEqual(Math.min(bounds.queue, waiting.length));
      } else if (what < 7 && waiting.length > 0) {
        const guest = waiting[pick(waiting.length)]!;
        const { ticket } = guest.standing as { ticket: number };
        const found = view.standing(ticket, guest.tag, now, bounds);
        if (found === null || found.is === "in") {
          const at = waiting.indexOf(guest);
          waiting.splice(at, 1);
          // Who came before has come in, or has not asked for too long.
          if (found !== null) inside.push({ ...guest, standing: found, lastAt: now });
          else expect(guest.lastAt + bounds.patience).toBeLessThan(now + 1);
        } else {
          guest.lastAt = now;
          guest.standing = found;
        }
      } else if (what === 7 && inside.length > 0) {
        const guest = inside[pick(inside.length)]!;
        const { place } = guest.standing as { place: number };
        const isIn = view.isIn(place, guest.tag, now, bounds);
        expect(isIn).toBe(guest.lastAt + bounds.session >= now);
        if (isIn) guest.lastAt = now;
        else inside.splice(inside.indexOf(guest), 1);
      } else if (what === 8) now++;
      else owner.sweep(now, bounds);
      // A worker that ends leaves nothing behind, and another one sees the same.
      if (pick(50) === 0) views = [new RoomTable(owner.buffer, size), views[0]!];
      expect(owner.active).toBeLessThanOrEqual(bounds.active);
      expect(owner.waiting).toBeLessThanOrEqual(bounds.queue);
    }
    // Turns are in the order of tickets, without a gap.
    for (const guest of waiting)
      guest.standing = views[0]!.standing((guest.standing as { ticket: number }).ticket, guest.tag, now, bounds)!;
    owner.sweep(now, bounds);
    const turns = waiting.flatMap(({ tag: who, standing }) => {
      const found = standing?.is === "waiting" ? owner.standing(standing.ticket, who, now, bounds) : null;
      return found?.is === "waiting" ? [found.turn] : [];
    });
    expect(turns).toEqual(turns.map((_, i) => i + 1));
    // All of them leave: every place is free again, and no address has any.
    now += 60;
    owner.sweep(now, bounds);
    expect([owner.active, owner.waiting]).toEqual([0, 0]);
    for (let i = 0; i < bounds.perAddress && i < bounds.active; i++)
      expect(owner.enter(++tag, 5, now, bounds)).toMatchObject({ is: "in" });
  }
});

test("a ticket whose worker has ended before it was written holds nobody up for long", () => {
  const bounds = { active: 1, queue: 10, session: 1, patience: 60, perAddress: 100 };
  const table = createRoomTable({ active: 1, queue: 10 });
  table.enter(1, 1, 0, bounds);
  const numbers = new Int32Array(table.buffer);
  numbers[0]!++;
  numbers[4]!++;
  const waiter = table.enter(2, 2, 0, bounds) as { ticket: number };
  for (let now = 0; now < 12; now++) table.sweep(now, bounds);
  expect(table.standing(waiter.ticket, 2, 12, bounds)).toMatchObject({ is: "in" });
  expect([table.waiting, table.countOf(RoomCount.Admitted)]).toEqual([0, 2]);
});

test("tickets count on past the largest number", () => {
  const bounds = { active: 1, queue: 10, session: 1000, patience: 60, perAddress: 100 };
  const table = createRoomTable({ active: 1, queue: 10 });
  const numbers = new Int32Array(table.buffer);
  table.enter(1, 1, 0, bounds);
  for (const at of [0, 1, 6]) numbers[at] = 0x7fff_fffe;
  const tickets = [2, 3, 4, 5].map((tag) => (table.enter(tag, tag, 0, bounds) as { ticket: number }).ticket);
  expect(tickets).toEqual([0x7fff_fffe, 0x7fff_ffff, -0x8000_0000, -0x7fff_ffff]);
  table.sweep(1, bounds);
  expect(tickets.map((ticket, i) => table.standing(ticket, i + 2, 1, bounds))).toMatchObject(
    [1, 2, 3, 4].map((turn) => ({ is: "waiting", turn })),
  );
});
