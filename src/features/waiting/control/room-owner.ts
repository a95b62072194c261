import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { roomsIn } from "../../../routes/waiting-rooms.ts";
import { WAITING_METRICS } from "../metrics.ts";
import { createRoomTable, isSameSize, RoomCount, type RoomTable } from "../room-table.ts";
import type { RoomInit, SharedRoom, SharedRooms } from "../rooms.ts";

const SWEEP_MS = 250;
/** How much of a new rate one sweep takes over: a minute shows the whole of a change. */
const SMOOTHING = SWEEP_MS / 15_000;

/** A room as it stands. */
interface RoomState {
  readonly route: string;
  readonly active: number;
  readonly limit: number;
  readonly waiting: number;
  readonly queue: number;
  /** Visitors let in a second, lately. */
  readonly rate: number;
}

/** A room as the control thread keeps it: across reloads, as long as a configuration has it. */
interface KeptRoom {
  readonly init: RoomInit;
  readonly shared: SharedRoom;
  readonly table: RoomTable;
  readonly pace: { admitted: number; rate: number; atMs: number };
}

/** Keeps the waiting rooms: it frees places, calls waiting visitors, and counts. docs/waiting-room.md */
export class RoomOwner implements ControlService<RuntimeConfig> {
  private rooms: ReadonlyMap<string, KeptRoom> = new Map();
  private timer: ReturnType<typeof setInterval> | null = null;

  constructor(config: RuntimeConfig) {
    this.rooms = this.made(config);
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedRooms } {
    const rooms = this.made(config);
    const takeUp = (): void => {
      this.rooms = rooms;
    };
    return { fields: sharedOf(rooms), takeUp };
  }

  startFields(): SharedRooms {
    return sharedOf(this.rooms);
  }

  use(): void {
    this.stop();
    if (this.rooms.size === 0) return;
    this.timer = setInterval(() => this.sweep(), SWEEP_MS);
    this.timer.unref();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** All rooms as they stand. */
  standings(): readonly RoomState[] {
    return [...this.rooms.values()].map(({ init: { route, bounds }, table }) => ({
      route,
      active: table.active,
      limit: bounds.active,
      waiting: table.waiting,
      queue: bounds.queue,
      rate: table.rate,
    }));
  }

  metrics(): readonly Metric[] {
    const each = (read: (table: RoomTable) => number) => () => {
      const sums = new Map<string, number>();
      for (const { init, table } of this.rooms.values())
        sums.set(init.route, (sums.get(init.route) ?? 0) + read(table));
      return [...sums].map(([route, value]) => ({ value, labels: { route } }));
    };
    return [
      metricOf(
        WAITING_METRICS,
        "gateway_waiting_room_active",
        each(({ active }) => active),
      ),
      metricOf(
        WAITING_METRICS,
        "gateway_waiting_room_waiting",
        each(({ waiting }) => waiting),
      ),
      metricOf(WAITING_METRICS, "gateway_waiting_room_visitors_total", () =>
        RESULTS.flatMap(([what, result]) =>
          each((table) => table.countOf(what))().map(({ value, labels }) => ({ value, labels: { ...labels, result } })),
        ),
      ),
    ];
  }

  private sweep(): void {
    const nowMs = performance.now();
    for (const { init, table, pace } of this.rooms.values()) {
      table.sweep(Math.floor(nowMs / 1000), init.bounds);
      const admitted = table.countOf(RoomCount.Admitted);
      const perSecond = (((admitted - pace.admitted) | 0) * 1000) / Math.max(1, nowMs - pace.atMs);
      pace.rate += SMOOTHING * (perSecond - pace.rate);
      [pace.admitted, pace.atMs] = [admitted, nowMs];
      table.noteRate(pace.rate);
    }
  }

  /** The rooms of a configuration: a room of the one before goes on, with its visitors. */
  private made({ routes }: RuntimeConfig): ReadonlyMap<string, KeptRoom> {
    return new Map(roomsIn(routes).map((init) => [init.key, this.kept(init, this.rooms.get(init.key))]));
  }

  private kept(init: RoomInit, known: KeptRoom | undefined): KeptRoom {
    const { key, bounds } = init;
    if (known !== undefined && isSameSize(known.shared.size, bounds)) return { ...known, init };
    const { active, queue } = bounds;
    const size = { active, queue };
    const table = createRoomTable(size);
    if (known !== undefined) table.takeOver(known.table, bounds);
    const words = crypto.getRandomValues(new Int32Array(2));
    const secret = known?.shared.secret ?? ([words[0]!, words[1]!] as const);
    const pace = known?.pace ?? { admitted: 0, rate: 0, atMs: performance.now() };
    return { init, table, shared: { key, buffer: table.buffer, size, secret }, pace };
  }
}

const RESULTS = [
  [RoomCount.Admitted, "admitted"],
  [RoomCount.Queued, "queued"],
  [RoomCount.Left, "left"],
  [RoomCount.Full, "full"],
  [RoomCount.Address, "address"],
] as const;

function sharedOf(rooms: ReadonlyMap<string, KeptRoom>): SharedRooms {
  return { rooms: [...rooms.values()].map(({ shared }) => shared) };
}
