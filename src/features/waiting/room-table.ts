/** Numbers before the parts of a table. */
const enum At {
  /** Tickets that were given out, and those called or given up; the others wait. */
  Tail = 0,
  Head,
  /** Places that left the list of free ones, and that came back. */
  Taken,
  Freed,
  /** Visitors that wait, and who waited when the queue was last walked through, with the ticket that was next then. */
  Waiting,
  WaitingThen,
  TailThen,
  /** Visitors let in, in a thousand seconds. */
  Rate,
  /** The first of the counters of RoomCount. */
  Counts,
}

/** Counts of visitors. */
export const enum RoomCount {
  Admitted = 0,
  Queued,
  /** Waiting visitors that have left. */
  Left,
  /** No place in the queue. */
  Full,
  /** As many visitors as one address may have. */
  Address,
}
const COUNTS = 5;
const HEADER = 16;

/** A visitor who is in: who it is, until when without a further request, and the hash of its address. */
const PLACE_NUMBERS = 3;
/** A visitor who waits: its ticket, who it is, when it last asked, its turn (below 0: its place, as -1 - place), its address. */
const TICKET_NUMBERS = 5;
/** Tickets of visitors that have left stand in the queue until their turn comes. */
const TICKETS_A_WAITER = 4;
/** Counters of addresses, in each of two rows, for each visitor. */
const COUNTERS_A_VISITOR = 4;
/** After this time the worker that was to write a ticket has ended. */
const LOST_SECONDS = 5;
const KNUTH = 0x9e3779b1 | 0;

/** How many visitors a table holds. */
export interface RoomSize {
  readonly active: number;
  readonly queue: number;
}

/** The bounds of a room; they may change while its table stays. */
export interface RoomBounds extends RoomSize {
  /** Seconds. */
  readonly session: number;
  readonly patience: number;
  readonly perAddress: number;
}

/** A visitor is in, has its turn in the queue, or gets none. */
export type RoomStanding =
  | { readonly is: "in"; readonly place: number }
  | { readonly is: "waiting"; readonly ticket: number; readonly turn: number }
  | { readonly is: "refused"; readonly cause: "full" | "address" };

/**
 * The visitors of a waiting room, in memory that all workers share. Workers let visitors in while there are free places and no queue, and give out tickets;
 * the control thread alone frees places, calls waiting visitors, first come first served, and counts their turns (`sweep`). Each step is one
 * atomic operation, so that nothing is locked, and the tickets of a worker stay if it ends. docs/waiting-room.md
 */
export class RoomTable {
  readonly buffer: SharedArrayBuffer;
  private readonly numbers: Int32Array;
  private readonly capacity: number;
  private readonly ring: number;
  private readonly row: number;
  private readonly freeAt: number;
  private readonly placesAt: number;
  private readonly ticketsAt: number;
  private readonly addressesAt: number;
  private readonly shift: number;
  /** A ticket that was given out and not written, since when: its worker may have ended. */
  private missing = 0;
  private missingSince = -1;

  constructor(buffer: SharedArrayBuffer, size: RoomSize) {
    this.buffer = buffer;
    this.numbers = new Int32Array(buffer);
    const { capacity, ring, row } = partsOf(size);
    [this.capacity, this.ring, this.row] = [capacity, ring, row];
    this.shift = 32 - Math.log2(row);
    this.freeAt = HEADER;
    this.placesAt = this.freeAt + capacity;
    this.ticketsAt = this.placesAt + capacity * PLACE_NUMBERS;
    this.addressesAt = this.ticketsAt + ring * TICKET_NUMBERS;
  }

  /** Visitors that are in, and that wait. */
  get active(): number {
    return this.capacity - ((this.load(At.Freed) - this.load(At.Taken)) | 0);
  }

  get waiting(): number {
    return Math.max(0, this.load(At.Waiting));
  }

  /** Visitors let in a second, lately; 0 while nothing is known. */
  get rate(): number {
    return this.load(At.Rate) / 1000;
  }

  countOf(what: RoomCount): number {
    return this.load(At.Counts + what) >>> 0;
  }

  /**
   * Lets a new visitor in, or gives it a ticket.
   * @param tag who it is: any number but 0
   * @param address the hash of its address
   * @param returns whether it has been in, before this process: it does not wait behind others if there is room
   */
  enter(tag: number, address: number, now: number, bounds: RoomBounds, returns = false): RoomStanding {
    if (this.addAddress(address, 1) > bounds.perAddress) {
      this.addAddress(address, -1);
      this.count(RoomCount.Address);
      return { is: "refused", cause: "address" };
    }
    if (returns || this.load(At.Tail) === this.load(At.Head)) {
      const place = this.takePlace(tag, address, now + bounds.session, bounds.active);
      if (place >= 0) return { is: "in", place };
    }
    const ticket = this.takeTicket(bounds.queue);
    if (ticket === null) {
      this.addAddress(address, -1);
      this.count(RoomCount.Full);
      return { is: "refused", cause: "full" };
    }
    const { numbers } = this;
    const at = this.ticketAt(ticket);
    const turn = this.load(At.WaitingThen) + ((ticket - this.load(At.TailThen)) | 0) + 1;
    Atomics.store(numbers, at + 1, tag);
    Atomics.store(numbers, at + 2, now);
    Atomics.store(numbers, at + 3, Math.max(1, turn));
    Atomics.store(numbers, at + 4, address);
    // The last: from now on the ticket counts.
    Atomics.store(numbers, at, ticket);
    this.count(RoomCount.Queued);
    return { is: "waiting", ticket, turn: Math.max(1, turn) };
  }

  /** Whether a visitor is in, and notes that it has asked. */
  isIn(place: number, tag: number, now: number, { session }: RoomBounds): boolean {
    if (place >= this.capacity) return false;
    const at = this.placeAt(place);
    const { numbers } = this;
    if (Atomics.load(numbers, at) !== tag) return false;
    const until = Atomics.load(numbers, at + 1);
    if (until < now) return false;
    if (until !== now + session) Atomics.store(numbers, at + 1, now + session);
    return true;
  }

  /** Finds the holder of a ticket, and notes that it has asked; null if the ticket counts no more. */
  standing(ticket: number, tag: number, now: number, bounds: RoomBounds): RoomStanding | null {
    const { numbers } = this;
    const at = this.ticketAt(ticket);
    if (Atomics.load(numbers, at) !== ticket || Atomics.load(numbers, at + 1) !== tag) return null;
    const turn = Atomics.load(numbers, at + 3);
    if (turn < 0) return this.isIn(-1 - turn, tag, now, bounds) ? { is: "in", place: -1 - turn } : null;
    Atomics.store(numbers, at + 2, now);
    return { is: "waiting", ticket, turn };
  }

  /** Frees the places of visitors that have left, calls waiting visitors, and counts their turns. The control thread alone calls it. */
  sweep(now: number, bounds: RoomBounds): void {
    for (let place = 0; place < this.capacity; place++) {
      const at = this.placeAt(place);
      // A second more than workers go by: none of them finds it still in.
      if (this.numbers[at] !== 0 && Atomics.load(this.numbers, at + 1) < now - 1) this.free(place);
    }
    this.call(now, bounds);
    this.countTurns(now, bounds);
  }

  /** Notes how many visitors came in lately. @param share of a second */
  noteRate(perSecond: number): void {
    Atomics.store(this.numbers, At.Rate, Math.round(Math.min(perSecond, 1e6) * 1000));
  }

  /** Takes over the visitors of a table of another size. */
  takeOver(from: RoomTable, bounds: RoomBounds): void {
    for (let place = 0; place < Math.min(from.capacity, this.capacity); place++) {
      const [tag, until, address] = from.readPlace(place);
      if (tag !== 0) this.put(tag, address, until, place);
    }
    this.relist();
    const [head, tail] = [from.load(At.Head), from.load(At.Tail)];
    Atomics.store(this.numbers, At.Head, head);
    Atomics.store(this.numbers, At.Tail, head);
    for (let ticket = head; ticket !== tail && ((ticket - head) | 0) < this.ring; ticket = (ticket + 1) | 0) {
      const at = from.ticketAt(ticket);
      for (let i = 0; i < TICKET_NUMBERS; i++)
        this.numbers[this.ticketAt(ticket) + i] = Atomics.load(from.numbers, at + i);
      Atomics.store(this.numbers, At.Tail, (ticket + 1) | 0);
      if (Atomics.load(from.numbers, at + 1) === 0) continue;
      this.addAddress(Atomics.load(from.numbers, at + 4), 1);
      Atomics.add(this.numbers, At.Waiting, 1);
    }
    for (let what = 0; what < COUNTS; what++) Atomics.store(this.numbers, At.Counts + what, from.countOf(what) | 0);
    this.countTurns(0, { ...bounds, patience: 0 });
  }

  private readPlace(place: number): [tag: number, until: number, address: number] {
    const at = this.placeAt(place);
    return [Atomics.load(this.numbers, at), Atomics.load(this.numbers, at + 1), Atomics.load(this.numbers, at + 2)];
  }

  /** Puts a visitor at a place of a table that nothing uses yet. */
  private put(tag: number, address: number, until: number, place: number): void {
    this.numbers.set([tag, until, address], this.placeAt(place));
    this.addAddress(address, 1);
  }

  /** Marks the tickets of a table that nothing uses yet: none of them was given out. */
  clearTickets(): void {
    for (let i = 0; i < this.ring; i++) this.numbers[this.ticketAt(i)] = i + 1;
  }

  /** Lists the free places of a table that nothing uses yet. */
  relist(): void {
    let count = 0;
    for (let place = 0; place < this.capacity; place++)
      if (this.numbers[this.placeAt(place)] === 0) this.numbers[this.freeAt + count++] = place;
    this.numbers[At.Taken] = 0;
    this.numbers[At.Freed] = count;
  }

  /** @returns its number; -1 if none is free */
  private takePlace(tag: number, address: number, until: number, active: number): number {
    const { numbers } = this;
    for (;;) {
      const taken = this.load(At.Taken);
      const left = (this.load(At.Freed) - taken) | 0;
      if (left <= 0 || this.capacity - left >= active) return -1;
      const place = Atomics.load(numbers, this.freeAt + (taken & (this.capacity - 1)));
      if (Atomics.compareExchange(numbers, At.Taken, taken, (taken + 1) | 0) !== taken) continue;
      const at = this.placeAt(place);
      Atomics.store(numbers, at + 1, until);
      Atomics.store(numbers, at + 2, address);
      Atomics.store(numbers, at, tag);
      this.count(RoomCount.Admitted);
      return place;
    }
  }

  private free(place: number): void {
    const { numbers } = this;
    const at = this.placeAt(place);
    Atomics.store(numbers, at, 0);
    this.addAddress(Atomics.load(numbers, at + 2), -1);
    const freed = this.load(At.Freed);
    Atomics.store(numbers, this.freeAt + (freed & (this.capacity - 1)), place);
    Atomics.store(numbers, At.Freed, (freed + 1) | 0);
  }

  /** @returns null if the queue is full */
  private takeTicket(queue: number): number | null {
    for (;;) {
      const tail = this.load(At.Tail);
      const isFull = this.load(At.Waiting) >= queue || ((tail - this.load(At.Head)) | 0) >= this.ring - 1;
      if (isFull) return null;
      if (Atomics.compareExchange(this.numbers, At.Tail, tail, (tail + 1) | 0) !== tail) continue;
      Atomics.add(this.numbers, At.Waiting, 1);
      return tail;
    }
  }

  private call(now: number, { active, patience }: RoomBounds): void {
    const { numbers } = this;
    for (let head = this.load(At.Head); head !== this.load(At.Tail); head = (head + 1) | 0) {
      const at = this.ticketAt(head);
      if (Atomics.load(numbers, at) !== head) {
        if (!this.isLost(head, now)) return;
        Atomics.sub(numbers, At.Waiting, 1);
        Atomics.store(numbers, At.Head, (head + 1) | 0);
        continue;
      }
      const tag = Atomics.load(numbers, at + 1);
      if (tag !== 0 && this.hasLeft(at, now, patience)) this.giveUp(at);
      else if (tag !== 0) {
        // It has as long to come in as it had to ask again, and its page asks within that time.
        const place = this.takePlace(tag, Atomics.load(numbers, at + 4), now + patience, active);
        if (place < 0) return;
        Atomics.store(numbers, at + 3, -1 - place);
        Atomics.sub(numbers, At.Waiting, 1);
      }
      Atomics.store(numbers, At.Head, (head + 1) | 0);
    }
  }

  private isLost(ticket: number, now: number): boolean {
    if (this.missingSince < 0 || this.missing !== ticket) [this.missing, this.missingSince] = [ticket, now];
    return now - this.missingSince > LOST_SECONDS;
  }

  private hasLeft(at: number, now: number, patience: number): boolean {
    return patience > 0 && Atomics.load(this.numbers, at + 2) + patience < now;
  }

  /** Its ticket stands in the queue until its turn comes, and counts no more. */
  private giveUp(at: number): void {
    Atomics.store(this.numbers, at + 1, 0);
    this.addAddress(Atomics.load(this.numbers, at + 4), -1);
    Atomics.sub(this.numbers, At.Waiting, 1);
    this.count(RoomCount.Left);
  }

  private countTurns(now: number, { patience }: RoomBounds): void {
    const { numbers } = this;
    const tail = this.load(At.Tail);
    let turn = 0;
    for (let ticket = this.load(At.Head); ticket !== tail; ticket = (ticket + 1) | 0) {
      const at = this.ticketAt(ticket);
      // A worker is about to write it.
      if (Atomics.load(numbers, at) !== ticket) {
        turn++;
        continue;
      }
      if (Atomics.load(numbers, at + 1) === 0) continue;
      if (this.hasLeft(at, now, patience)) this.giveUp(at);
      else Atomics.store(numbers, at + 3, ++turn);
    }
    Atomics.store(numbers, At.WaitingThen, turn);
    Atomics.store(numbers, At.TailThen, tail);
  }

  /** @returns how many visitors the address has; of two counters that it shares with others, the smaller one says it */
  private addAddress(address: number, count: number): number {
    const { numbers, row, shift, addressesAt } = this;
    const first = addressesAt + (address & (row - 1));
    const second = addressesAt + row + (Math.imul(address ^ (address >>> 16), KNUTH) >>> shift);
    return Math.min(Atomics.add(numbers, first, count), Atomics.add(numbers, second, count)) + count;
  }

  private count(what: RoomCount): void {
    Atomics.add(this.numbers, At.Counts + what, 1);
  }

  private load(at: number): number {
    return Atomics.load(this.numbers, at);
  }

  private placeAt(place: number): number {
    return this.placesAt + place * PLACE_NUMBERS;
  }

  private ticketAt(ticket: number): number {
    return this.ticketsAt + (ticket & (this.ring - 1)) * TICKET_NUMBERS;
  }
}

/** Makes an empty table. */
export function createRoomTable(size: RoomSize): RoomTable {
  const { capacity, ring, row } = partsOf(size);
  const numbers = HEADER + capacity * (1 + PLACE_NUMBERS) + ring * TICKET_NUMBERS + 2 * row;
  const table = new RoomTable(new SharedArrayBuffer(numbers * Int32Array.BYTES_PER_ELEMENT), size);
  table.relist();
  table.clearTickets();
  return table;
}

/** Whether tables of two sizes are alike. */
export function isSameSize(one: RoomSize, other: RoomSize): boolean {
  const [a, b] = [partsOf(one), partsOf(other)];
  return a.capacity === b.capacity && a.ring === b.ring && a.row === b.row;
}

/** All of them powers of two. */
function partsOf({ active, queue }: RoomSize): { capacity: number; ring: number; row: number } {
  const capacity = powerOfTwo(active);
  const ring = powerOfTwo(Math.max(1, queue) * TICKETS_A_WAITER);
  return { capacity, ring, row: powerOfTwo((active + queue) * COUNTERS_A_VISITOR) };
}

function powerOfTwo(least: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(64, least)));
}
