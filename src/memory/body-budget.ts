import { Fault } from "../core/fault.ts";
import { AddressTally, clearTallyOf, createAddressTally } from "./address-tally.ts";
import {
  BodyHold,
  type HoldAccount,
  type HoldBudget,
  type HoldClient,
  type HoldOwner,
  type LateOwner,
} from "./body-hold.ts";
import { BodyPool } from "./body-pool.ts";

/** Milliseconds for which a body that has just begun is not ended for the room that it needs itself. */
const BODY_NEWCOMER_MS = 1000;
/** How many buffered bodies the search for the slowest compares: the longest stalled ones. */
const MAX_SLOWEST_LOOKS = 64;
/** Buffered request bodies beyond this go to a temporary file. */
export const SPOOL_BYTES = 1024 * 1024;

/** Bytes of one buffer of a body that is kept in memory. */
export const BODY_BLOCK_BYTES = 16384;

/** Most buffered bytes of all workers together. */
export interface BodyLimits {
  /** Bytes in memory: `proxy.transport.max_buffered_bytes`. */
  readonly memoryBytes: number;
  /** What part of them one client address may have, above 0 up to 1: `proxy.transport.max_buffered_share`. */
  readonly share: number;
  /** Bytes in spool files: `proxy.transport.max_spooled_bytes`. */
  readonly diskBytes: number;
}

/** The shared part of the workers' budgets. */
export interface BodyBudgetBuffers {
  /** KiB in memory a worker | KiB on disk a worker | wishes for room in memory | wishes for room on disk */
  readonly totals: SharedArrayBuffer;
  readonly addresses: SharedArrayBuffer;
}

/**
 * Makes the shared counts, 0 everywhere.
 * @param secret two unpredictable numbers
 */
export function createBodyBudget(workers: number, secret: ArrayLike<number>): BodyBudgetBuffers {
  const totals = new SharedArrayBuffer(4 * (2 * workers + 2));
  return { totals, addresses: createAddressTally(workers, secret) };
}

/** Takes back the holds of a worker that ended. */
export function returnBudgetOf({ totals, addresses }: BodyBudgetBuffers, worker: number): void {
  const cells = new Int32Array(totals);
  const workers = (cells.length - 2) / 2;
  Atomics.store(cells, worker, 0);
  Atomics.store(cells, workers + worker, 0);
  clearTallyOf(addresses, worker);
}

/**
 * Room for request bodies that wait, in memory and in spool files: one object a worker, two budgets for all workers
 * together. It counts the bytes of the buffers that bodies really take. When a budget is full, the body that comes slowest is
 * ended (408) and the others go on; when one client address has its share, one of its own is. docs/security.md#resources-of-one-client
 *
 * A body that comes whole in one turn, as nearly all do, is never counted: the last one that was opened is examined when the
 * next one is opened, or with the next tick.
 */
export class BodyBudget implements HoldBudget {
  readonly memory: BodyPool;
  readonly disk: BodyPool;
  private readonly tally: AddressTally;
  private readonly turn: { readonly nowMs: number };
  private readonly accounts: Map<number, HoldAccount> = new Map();
  private shareKib = 0;
  /** The body that was opened last and may yet be complete at once. */
  private latest: BodyHold | null = null;
  /** Likewise, for a body that has not even opened a hold yet. */
  private late: LateOwner | null = null;
  /** Bytes of one body from which on it goes to a file. */
  spoolBytes: number = SPOOL_BYTES;

  /** @param turn the time in milliseconds */
  constructor(
    { totals, addresses }: BodyBudgetBuffers,
    worker: number,
    turn: { readonly nowMs: number },
    limits: BodyLimits,
  ) {
    const workers = (totals.byteLength / 4 - 2) / 2;
    const cells = new Int32Array(totals);
    this.memory = new BodyPool("proxy.transport.max_buffered_bytes", cells, { from: 0, workers, worker });
    this.disk = new BodyPool("proxy.transport.max_spooled_bytes", cells, { from: workers, workers, worker });
    this.tally = new AddressTally(addresses, worker);
    this.turn = turn;
    this.use(limits);
  }

  /** Takes new limits; bodies beyond them go on as they would. */
  use({ memoryBytes, share, diskBytes }: BodyLimits): void {
    this.memory.limitKib = Math.floor(memoryBytes / 1024);
    this.disk.limitKib = Math.floor(diskBytes / 1024);
    this.shareKib = Math.max(1, Math.floor((memoryBytes * share) / 1024));
    // A body that could not even reach its file would not pass however slowly the budget fills.
    this.spoolBytes = Math.min(SPOOL_BYTES, Math.max(BODY_BLOCK_BYTES, (this.shareKib * 1024) / 4));
  }

  get nowMs(): number {
    return this.turn.nowMs;
  }

  /** Opens a hold for a body: nothing counts yet. */
  open(owner: HoldOwner, client: HoldClient): BodyHold {
    this.countLatest();
    this.latest = new BodyHold(this, owner, client);
    return this.latest;
  }

  /** A body has begun that may be complete at once: `openHold` is called when it was not, and `forgetLate` has not been. */
  watch(late: LateOwner): void {
    this.countLatest();
    this.late = late;
  }

  forgetLate(late: LateOwner): void {
    if (this.late === late) this.late = null;
  }

  /** To be called now and then: counts the body that was opened last, and makes the room that other workers ask for. */
  tick(): void {
    this.countLatest();
    for (const pool of [this.memory, this.disk]) {
      if (pool.isAskedForRoom() && pool.isFull()) this.slowestOf(pool.holds, null)?.evict(pool.key);
    }
  }

  /** Takes memory for a body that is counted. @returns Fault.None, or why there is none; `hold.refusedBy` names the setting */
  takeMemory(hold: BodyHold, bytes: number): Fault {
    const account = hold.account!;
    this.changeMemory(account, bytes);
    hold.memoryBytes += bytes;
    const fault = this.makeRoom(hold, account);
    if (fault === Fault.None || hold.account === null) return fault;
    hold.memoryBytes -= bytes;
    this.changeMemory(account, -bytes);
    return fault;
  }

  /** Takes room in spool files, likewise. */
  takeDisk(hold: BodyHold, bytes: number): Fault {
    this.disk.change(bytes);
    hold.diskBytes += bytes;
    if (!hold.isSettled) this.disk.holds.add(hold);
    const fault = this.makeRoomIn(this.disk, hold);
    if (fault === Fault.None || hold.account === null) return fault;
    hold.diskBytes -= bytes;
    this.disk.change(-bytes);
    return fault;
  }

  /** Gives memory of an address back. */
  changeMemory(account: HoldAccount, bytes: number): void {
    account.bytes += bytes;
    this.memory.change(bytes);
    const kib = Math.ceil(account.bytes / 1024);
    if (kib === account.kib) return;
    this.tally.add(account.id, kib - account.kib);
    account.kib = kib;
  }

  /** The account of a body's client; the body counts from here on. */
  enter(hold: BodyHold, address: string): HoldAccount {
    const id = this.tally.idOf(address);
    let account = this.accounts.get(id);
    if (account === undefined) {
      account = { id, bytes: 0, kib: 0, count: 0, holds: new Set() };
      this.accounts.set(id, account);
    }
    account.count++;
    if (hold.isSettled) return account;
    account.holds.add(hold);
    this.memory.holds.add(hold);
    return account;
  }

  /** Releases a body's hold. */
  leave(hold: BodyHold, account: HoldAccount): void {
    this.unlist(hold, account);
    if (--account.count === 0) this.accounts.delete(account.id);
  }

  /** A body is complete: whatever holds it now, it is not its client. */
  unlist(hold: BodyHold, account: HoldAccount): void {
    account.holds.delete(hold);
    this.memory.holds.delete(hold);
    this.disk.holds.delete(hold);
  }

  /** A body has come closer to its end. */
  touch(hold: BodyHold, account: HoldAccount): void {
    for (const holds of [account.holds, this.memory.holds, this.disk.holds]) if (holds.delete(hold)) holds.add(hold);
  }

  /** A body that was just released needs no check. */
  forgetLatest(hold: BodyHold): void {
    if (this.latest === hold) this.latest = null;
  }

  private countLatest(): void {
    const { late } = this;
    if (late !== null) {
      this.late = null;
      late.openHold();
    }
    const { latest } = this;
    this.latest = null;
    latest?.count();
  }

  private makeRoom(hold: BodyHold, account: HoldAccount): Fault {
    while (this.tally.total(account.id) > this.shareKib) {
      const fault = this.endSlowest(account.holds, hold, SHARE_KEY);
      if (fault !== Fault.None) return fault;
    }
    return this.makeRoomIn(this.memory, hold);
  }

  private makeRoomIn(pool: BodyPool, hold: BodyHold): Fault {
    while (pool.isFull()) {
      const fault = this.endSlowest(pool.holds, hold, pool.key);
      if (fault === Fault.BuffersFull) pool.askForRoom();
      if (fault !== Fault.None) return fault;
    }
    return Fault.None;
  }

  /** Ends the slowest body. @returns Fault.None if that made room, else the fault of the asking body */
  private endSlowest(holds: ReadonlySet<BodyHold>, asking: BodyHold, key: string): Fault {
    const slowest = this.slowestOf(holds, asking);
    if (slowest !== null && slowest !== asking) {
      slowest.evict(key);
      // The asking body may be the slowest itself.
      return asking.account === null ? Fault.Cancelled : Fault.None;
    }
    asking.refusedBy = key;
    return slowest === asking && holds.size > 1 ? Fault.BodyEvicted : Fault.BuffersFull;
  }

  /** The slowest of the longest stalled bodies. It spares an asking body that has just begun. */
  private slowestOf(holds: ReadonlySet<BodyHold>, asking: BodyHold | null): BodyHold | null {
    const { nowMs } = this;
    let slowest: BodyHold | null = null;
    let looks = 0;
    for (const hold of holds) {
      if (looks++ >= MAX_SLOWEST_LOOKS) break;
      const isNewcomer = hold === asking && hold.ageMs(nowMs) < BODY_NEWCOMER_MS;
      if (!isNewcomer && (slowest === null || hold.rate(nowMs) < slowest.rate(nowMs))) slowest = hold;
    }
    return slowest;
  }
}

const SHARE_KEY = "proxy.transport.max_buffered_share";
