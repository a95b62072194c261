import type { PurgeOrder } from "../../message/purge-order.ts";
import type { FleetStore } from "./fleet-store.ts";

/**
 * The purges of a fleet, in a stream of the store. A gateway that was away reads what has come meanwhile; where that is no longer there, all
 * that is stored may be what should have been purged, and goes. docs/fleet.md#purges
 */
export class PurgeLog {
  private readonly key: string;
  private readonly node: string;
  private readonly purge: (order: PurgeOrder) => void;
  /** The last entry that was read; "" before the first. */
  private last = "";
  /** What was purged here while the store was away. */
  private untold: PurgeOrder[] = [];
  private store: FleetStore | null = null;

  /** @param node the id of this gateway, whose own purges are done already */
  constructor(prefix: string, node: string, purge: (order: PurgeOrder) => void) {
    this.key = `${prefix}:purges`;
    this.node = node;
    this.purge = purge;
  }

  /** After a connection was made: where to go on from, and whether anything was missed. */
  async catchUp(store: FleetStore): Promise<void> {
    const newest = idOf(await store.call(this.key, ["XREVRANGE", this.key, "+", "-", "COUNT", "1"]));
    const oldest = idOf(await store.call(this.key, ["XRANGE", this.key, "-", "+", "COUNT", "1"]));
    if (this.last === "") this.last = newest;
    else if (isBefore(newest, this.last) || isBefore(this.last, oldest)) {
      // What is gone may have been about anything.
      if (this.last !== BEGINNING || oldest !== BEGINNING) this.purge({ kind: "all", isSoft: false });
      this.last = newest;
    }
    this.store = store;
    for (const order of this.untold.splice(0)) this.tell(order);
    await this.read(store);
  }

  /** Reads the received data, and does it. */
  async read(store: FleetStore): Promise<void> {
    for (;;) {
      const found = await store.call(this.key, [
        "XRANGE",
        this.key,
        `(${this.last}`,
        "+",
        "COUNT",
        String(READ_AT_ONCE),
      ]);
      if (!Array.isArray(found) || found.length === 0) return;
      for (const [id, fields] of found as [string, string[]][]) {
        this.last = id;
        const [, node, , text] = fields;
        if (node === this.node || text === undefined) continue;
        const order = readOrder(text);
        if (order !== null) this.purge(order);
      }
      if (found.length < READ_AT_ONCE) return;
    }
  }

  /** Tells the others of a purge. Where too many wait, the others empty what they hold. */
  tell(order: PurgeOrder): void {
    const { store } = this;
    const text = JSON.stringify(order);
    const keep = (): void => {
      this.untold = this.untold.length < MAX_UNTOLD ? [...this.untold, order] : [{ kind: "all", isSoft: false }];
    };
    if (store === null) return keep();
    const words = ["XADD", this.key, "MAXLEN", "~", String(KEPT_ENTRIES), "*", "node", this.node, "order", text];
    store.call(this.key, words).catch(keep);
  }
}

function idOf(entries: unknown): string {
  const first = Array.isArray(entries) ? (entries[0] as unknown[] | undefined) : undefined;
  return first === undefined ? BEGINNING : String(first[0]);
}

/** Whether one entry was made before another. Their ids are milliseconds and a number. */
function isBefore(one: string, other: string): boolean {
  const [ms = 0, number = 0] = one.split("-").map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split("-").map(Number);
  return ms < otherMs || (ms === otherMs && number < otherNumber);
}

/** Null if it is none: another version may know of more kinds. */
function readOrder(text: string): PurgeOrder | null {
  try {
    const { kind, isSoft, ...rest } = JSON.parse(text) as Record<string, unknown>;
    if (typeof isSoft !== "boolean") return null;
    if (kind === "all") return { kind, isSoft };
    const { authority, target, tags } = rest;
    if ((kind === "uri" || kind === "prefix") && typeof authority === "string" && typeof target === "string")
      return { kind, isSoft, authority, target };
    const isTags = kind === "tags" && Array.isArray(tags) && tags.every((tag) => typeof tag === "string");
    return isTags ? { kind, isSoft, tags: tags as string[] } : null;
  } catch {
    return null;
  }
}

const BEGINNING = "0-0";
const READ_AT_ONCE = 100;
const KEPT_ENTRIES = 10_000;
const MAX_UNTOLD = 1000;
