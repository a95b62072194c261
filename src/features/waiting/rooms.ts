import type { WorkerService } from "../../core/worker-service.ts";
import { BucketKey } from "../../memory/token-bucket-key.ts";
import type { Visitor } from "./room-cookie.ts";
import { createRoomTable, type RoomBounds, type RoomSize, type RoomStanding, RoomTable } from "./room-table.ts";

/** The visitors of all rooms, by the keys of these. */
export interface SharedRooms {
  readonly rooms: readonly SharedRoom[];
}

/** The visitors of one, and what hides their addresses. */
export interface SharedRoom {
  readonly key: string;
  readonly buffer: SharedArrayBuffer;
  /** With which the table was made. */
  readonly size: RoomSize;
  /** Two unpredictable numbers. */
  readonly secret: readonly [number, number];
}

/** A room of a configuration: control thread and workers make the same of the same configuration. */
export interface RoomInit {
  /** Tells it from all others, across reloads. */
  readonly key: string;
  readonly route: string;
  readonly bounds: RoomBounds;
}

/** A room as one worker sees it; it outlives configurations. */
export class Room {
  bounds: RoomBounds;
  private table: RoomTable;
  private addresses: BucketKey = new BucketKey(0, 0);
  private readonly clock: { readonly nowMs: number };

  /** @param clock which all threads share */
  constructor(bounds: RoomBounds, clock: Room["clock"]) {
    this.bounds = bounds;
    this.clock = clock;
    // Until the control thread gives it the shared one.
    this.table = createRoomTable({ active: 1, queue: 0 });
  }

  /** Takes the visitors that all workers share. */
  share({ buffer, size, secret }: SharedRoom): void {
    if (this.table.buffer === buffer) return;
    this.table = new RoomTable(buffer, size);
    this.addresses = new BucketKey(...secret);
  }

  /** Finds a visitor; null if it is not known here, or has left. */
  find({ tag, isIn, number }: Visitor): RoomStanding | null {
    const { table, bounds, now } = this;
    if (!isIn) return table.standing(number, tag, now, bounds);
    return table.isIn(number, tag, now, bounds) ? { is: "in", place: number } : null;
  }

  /** Lets a new visitor in, or gives it a ticket. @param returns whether it has been in before this process */
  enter(tag: number, address: string, returns: boolean): RoomStanding {
    const bytes = Buffer.from(address, "utf8");
    this.addresses.hash(bytes, 0, bytes.length);
    return this.table.enter(tag, this.addresses.low, this.now, this.bounds, returns);
  }

  /** Until a turn comes, in seconds: by how many came in lately, else by how long visits may last. */
  waitOf(turn: number): number {
    const { rate } = this.table;
    const { active, session } = this.bounds;
    return Math.min(MAX_WAIT_SECONDS, Math.ceil(rate > 0 ? turn / rate : (turn * session) / active));
  }

  private get now(): number {
    return Math.floor(this.clock.nowMs / 1000);
  }
}

const MAX_WAIT_SECONDS = 86_400;

/** The rooms of one worker. docs/waiting-room.md */
export class Rooms implements WorkerService<never> {
  private readonly clock: { readonly nowMs: number };
  private readonly initsOf: (config: never) => readonly RoomInit[];
  private readonly all: Map<string, Room> = new Map();
  private shared: ReadonlyMap<string, SharedRoom> = new Map();

  /**
   * @param clock which all threads share
   * @param initsOf the rooms of a configuration
   */
  constructor(clock: Rooms["clock"], initsOf: (config: never) => readonly RoomInit[]) {
    this.clock = clock;
    this.initsOf = initsOf;
  }

  share({ rooms }: SharedRooms): void {
    this.shared = new Map(rooms.map((one) => [one.key, one]));
    for (const [key, room] of this.all) {
      const shared = this.shared.get(key);
      if (shared !== undefined) room.share(shared);
    }
  }

  /** The room of a configuration, which may not be in use yet. */
  of({ key, bounds }: RoomInit): Room {
    const known = this.all.get(key);
    if (known !== undefined) return known;
    const room = new Room(bounds, this.clock);
    const shared = this.shared.get(key);
    if (shared !== undefined) room.share(shared);
    this.all.set(key, room);
    return room;
  }

  use(config: never): void {
    const inits = new Map(this.initsOf(config).map((init) => [init.key, init]));
    for (const [key, room] of this.all) {
      const init = inits.get(key);
      if (init === undefined) this.all.delete(key);
      else room.bounds = init.bounds;
    }
  }
}
