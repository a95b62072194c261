import { expect, test } from "bun:test";
import {
  createRoomTable,
  type RoomBounds,
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

/** A table of some size, two workers that use it, and the visitors as they must be. */
class Crowd {
  readonly bounds: RoomBounds;
  readonly waiting: Guest[] = [];
  readonly inside: Guest[] = [];
  readonly owner: RoomTable;
  now = 100;
  tag = 0;
  private views: RoomTable[];
  private readonly random: SeededRandom;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    const [active, queue] = [1 + this.pick(9), this.pick(20)];
    this.bounds = { active, queue, session: 4, patience: 3, perAddress: 6 };
    this.owner = createRoomTable({ active, queue });
    this.views = [this.view(), this.view()];
  }

  step(): void {
    const view = this.views[this.pick(2)]!;
    const what = this.pick(10);
    if (what < 3) this.enter(view);
    else if (what < 7 && this.waiting.length > 0) this.poll(view, this.waiting[this.pick(this.waiting.length)]!);
    else if (what === 7 && this.inside.length > 0) this.goOn(view, this.inside[this.pick(this.inside.length)]!);
    else if (what === 8) this.now++;
    else this.owner.sweep(this.now, this.bounds);
    // A worker that ends leaves nothing behind, and another one sees the same.
    if (this.pick(50) === 0) this.views = [this.view(), this.views[0]!];
    expect(this.owner.active).toBeLessThanOrEqual(this.bounds.active);
    expect(this.owner.waiting).toBeLessThanOrEqual(this.bounds.queue);
  }

  /** Lets a waiting visitor ask. */
  ask(view: RoomTable, guest: Guest): RoomStanding | null {
    const found = view.standing((guest.standing as { ticket: number }).ticket, guest.tag, this.now, this.bounds);
    if (found !== null) guest.lastAt = this.now;
    return found;
  }

  private enter(view: RoomTable): void {
    const { bounds, now, waiting } = this;
    const guest: Guest = { tag: ++this.tag, standing: { is: "refused", cause: "full" }, lastAt: now };
    guest.standing = view.enter(guest.tag, this.pick(1000), now, bounds);
    if (guest.standing.is === "waiting") waiting.push(guest);
    else if (guest.standing.is === "in") {
      // It has not passed a visitor who waits.
      expect(waiting.filter((one) => this.ask(view, one)?.is === "waiting")).toEqual([]);
      this.inside.push(guest);
    }
  }

  private poll(view: RoomTable, guest: Guest): void {
    const before = guest.lastAt;
    const found = this.ask(view, guest);
    if (found?.is === "waiting") return;
    this.waiting.splice(this.waiting.indexOf(guest), 1);
    if (found !== null) this.inside.push({ ...guest, standing: found });
    else expect(before + this.bounds.patience).toBeLessThanOrEqual(this.now);
  }

  private goOn(view: RoomTable, guest: Guest): void {
    const isIn = view.isIn((guest.standing as { place: number }).place, guest.tag, this.now, this.bounds);
    expect(isIn).toBe(guest.lastAt + this.bounds.session >= this.now);
    if (isIn) guest.lastAt = this.now;
    else this.inside.splice(this.inside.indexOf(guest), 1);
  }

  private view(): RoomTable {
    const { active, queue } = this.bounds;
    return new RoomTable(this.owner.buffer, { active, queue });
  }

  private pick(count: number): number {
    return this.random.integer(0, count - 1);
  }
}

test("whatever visitors do: never one too many, the first to come is the first to come in, and nothing is lost", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const crowd = new Crowd(seed);
    for (let step = 0; step < 600; step++) crowd.step();
    const { owner, bounds, waiting } = crowd;
    // Turns are in the order of tickets, without a gap.
    for (const guest of waiting) crowd.ask(owner, guest);
    owner.sweep(crowd.now, bounds);
    const turns = waiting.map((guest) => crowd.ask(owner, guest)).filter((one) => one?.is === "waiting");
    expect(turns.map((one) => (one as { turn: number }).turn)).toEqual(turns.map((_, i) => i + 1));
    // All of them leave: every place is free again, and no address has any.
    crowd.now += 60;
    owner.sweep(crowd.now, bounds);
    expect([owner.active, owner.waiting]).toEqual([0, 0]);
    for (let i = 0; i < Math.min(bounds.perAddress, bounds.active); i++)
      expect(owner.enter(++crowd.tag, 5, crowd.now, bounds)).toMatchObject({ is: "in" });
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
