import { Fault } from "../core/fault.ts";

/** What one client address holds in memory, in this worker. */
export interface HoldAccount {
  readonly id: number;
  bytes: number;
  /** What the tally knows of it, in KiB. */
  kib: number;
  /** Bodies, complete ones included. */
  count: number;
  /** The bodies that are still coming, those first that have been stalled longest. */
  readonly holds: Set<BodyHold>;
}

/** Milliseconds over which the rate of a held body is judged when the slowest one is searched for. */
const BODY_RATE_WINDOW_MS = 10_000;

/** Who holds a body. */
export interface HoldOwner {
  /** The body did not come whole at once: what is held of it is to be counted from now on. */
  onCounted(): void;
  /** The room is needed and this body comes slowest: it ends with Fault.BodyEvicted, and lets go of its hold. */
  onEvicted(key: string): void;
}

/** Who holds a body that may be complete at once, and opens its hold only when it is not. */
export interface LateOwner {
  /** Opens the hold, with BodyBudget.open. */
  openHold(): void;
}

/** Whose body it is: asked once, when the body begins to count. */
export interface HoldClient {
  /** Without a port. */
  readonly clientIp: string;
}

/** The budgets, as what holds some of them sees them. */
export interface HoldBudget {
  readonly nowMs: number;
  readonly disk: { change(bytes: number): void };
  /** A body that has just been let go, or is complete, need not be examined. */
  forgetLatest(hold: BodyHold): void;
  /** The account of a body's client; the body counts from here on. */
  enter(hold: BodyHold, address: string): HoldAccount;
  /** A body has come closer to its end. */
  touch(hold: BodyHold, account: HoldAccount): void;
  /** Takes memory. @returns Fault.None, or why there is none */
  takeMemory(hold: BodyHold, bytes: number): Fault;
  /** Takes room in spool files, likewise. */
  takeDisk(hold: BodyHold, bytes: number): Fault;
  /** Gives memory of an address back. */
  changeMemory(account: HoldAccount, bytes: number): void;
  /** A body is complete. */
  unlist(hold: BodyHold, account: HoldAccount): void;
  /** Releases a body's hold. */
  leave(hold: BodyHold, account: HoldAccount): void;
}

/** What one request body holds of the budgets. */
export class BodyHold {
  account: HoldAccount | null = null;
  memoryBytes = 0;
  diskBytes = 0;
  /** Whether the body is complete, so that its client is not to blame for what it holds. */
  isSettled = false;
  /** The setting that refused more; "" if none did. */
  refusedBy = "";
  private readonly budget: HoldBudget;
  private readonly owner: HoldOwner;
  private readonly client: HoldClient;
  private isOver = false;
  private readonly beganMs: number;
  private rateSinceMs: number;
  private rateBytes = 0;
  private movedMs = 0;

  constructor(budget: HoldBudget, owner: HoldOwner, client: HoldClient) {
    this.budget = budget;
    this.owner = owner;
    this.client = client;
    this.beganMs = budget.nowMs;
    this.rateSinceMs = this.beganMs;
  }

  /** Whether its bytes count already. */
  get isCounted(): boolean {
    return this.account !== null;
  }

  /** Begins to count; the owner says what it holds. */
  count(): void {
    if (this.isOver || this.account !== null) return;
    this.budget.forgetLatest(this);
    this.account = this.budget.enter(this, this.client.clientIp);
    this.owner.onCounted();
  }

  /** The client has sent so many bytes of the body. */
  progress(bytes: number): void {
    const { nowMs } = this.budget;
    this.rateBytes += bytes;
    if (nowMs - this.rateSinceMs > BODY_RATE_WINDOW_MS) {
      // What was long ago counts half.
      this.rateBytes /= 2;
      this.rateSinceMs = (this.rateSinceMs + nowMs) / 2;
    }
    if (this.account === null || this.isSettled || nowMs === this.movedMs) return;
    this.movedMs = nowMs;
    this.budget.touch(this, this.account);
  }

  /** Bytes a second, lately. */
  rate(nowMs: number): number {
    return (this.rateBytes * 1000) / Math.max(1000, nowMs - this.rateSinceMs);
  }

  ageMs(nowMs: number): number {
    return nowMs - this.beganMs;
  }

  /** Has so much memory from now on. @returns Fault.None, or why it cannot; `refusedBy` names the setting */
  growTo(bytes: number): Fault {
    if (bytes <= this.memoryBytes) return Fault.None;
    if (this.account === null) this.count();
    // The owner may have been refused while it was counted.
    if (this.account === null) return Fault.Cancelled;
    return bytes <= this.memoryBytes ? Fault.None : this.budget.takeMemory(this, bytes - this.memoryBytes);
  }

  /** Gives memory back beyond so much. */
  shrinkTo(bytes: number): void {
    if (this.account === null || bytes >= this.memoryBytes) return;
    this.budget.changeMemory(this.account, bytes - this.memoryBytes);
    this.memoryBytes = bytes;
  }

  /** Takes room in a spool file, like `growTo`. */
  spool(bytes: number): Fault {
    return this.account === null ? Fault.Cancelled : this.budget.takeDisk(this, bytes);
  }

  /** The body is complete. */
  settle(): void {
    if (this.isSettled || this.isOver) return;
    this.isSettled = true;
    this.budget.forgetLatest(this);
    if (this.account !== null) this.budget.unlist(this, this.account);
  }

  /** Makes room for others: the owner learns of it, and whatever it does, the room is free. */
  evict(key: string): void {
    this.settle();
    this.owner.onEvicted(key);
    this.release();
  }

  /** Gives everything back. */
  release(): void {
    if (this.isOver) return;
    this.isOver = true;
    const { budget, account } = this;
    if (account === null) {
      budget.forgetLatest(this);
      return;
    }
    budget.changeMemory(account, -this.memoryBytes);
    budget.disk.change(-this.diskBytes);
    this.account = null;
    budget.leave(this, account);
  }
}
