import { isMappedV4, parseAddress } from "../core/ip-address.ts";
import { BucketKey } from "./token-bucket-key.ts";

/** Places of one row; each worker has two rows. */
const PLACES = 8192;
/** Int32 that one worker's rows take. */
const WORKER_CELLS = 2 * PLACES;
/** Int32 before the rows: the secret of the hash. */
const HEADER_CELLS = 2;

/**
 * What client addresses hold of something, all workers together: an IPv4 address by itself, IPv6 by its /64, since a client
 * has all of that. A count-min sketch: an address has a place in each of two rows, found by a keyed hash that no client can
 * aim at another, and what it holds is the smaller of the two sums. So an address that shares one place with another is still
 * told from it; sharing both takes one chance in 67 million for each address that holds something.
 *
 * Each worker writes its own rows, and readers add them up: there is nothing to lock, and what a worker that has ended held
 * is taken back by clearing its rows.
 */
export class AddressTally {
  private readonly cells: Int32Array;
  private readonly own: number;
  private readonly key: BucketKey;
  /** Requests of one client follow each other. */
  private lastAddress: string | null = null;
  private lastId = 0;
  private readonly octets: Uint8Array = new Uint8Array(16);

  /** @param buffer from `createAddressTally` */
  constructor(buffer: SharedArrayBuffer, worker: number) {
    this.cells = new Int32Array(buffer);
    this.own = HEADER_CELLS + worker * WORKER_CELLS;
    this.key = new BucketKey(this.cells[0]!, this.cells[1]!).derive("addresses");
  }

  /** The number under which an address is kept, the same in every worker. @param address without a port */
  idOf(address: string): number {
    if (address === this.lastAddress) return this.lastId;
    const { octets, key } = this;
    if (!parseAddress(address, octets)) {
      const text = Buffer.from(address, "utf8");
      key.hash(text, 0, text.length);
    } else if (isMappedV4(octets)) key.hash(octets, 12, 16);
    else key.hash(octets, 0, 8);
    this.lastAddress = address;
    this.lastId = (key.high & (PLACES - 1)) * PLACES + (key.low & (PLACES - 1));
    return this.lastId;
  }

  /** This worker holds more for an address, or less. */
  add(id: number, count: number): void {
    const first = this.own + Math.floor(id / PLACES);
    const second = this.own + PLACES + (id % PLACES);
    Atomics.add(this.cells, first, count);
    Atomics.add(this.cells, second, count);
  }

  /** What all workers hold for an address. */
  total(id: number): number {
    const { cells } = this;
    let first = 0;
    let second = 0;
    for (let row = HEADER_CELLS; row < cells.length; row += WORKER_CELLS) {
      first += Atomics.load(cells, row + Math.floor(id / PLACES));
      second += Atomics.load(cells, row + PLACES + (id % PLACES));
    }
    return Math.min(first, second);
  }
}

/**
 * Makes the shared rows, all 0: 64 KiB a worker.
 * @param secret two unpredictable numbers
 */
export function createAddressTally(workers: number, secret: ArrayLike<number>): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(4 * (HEADER_CELLS + workers * WORKER_CELLS));
  new Int32Array(buffer).set([secret[0]!, secret[1]!]);
  return buffer;
}

/** Takes back the holds of a worker that ended. */
export function clearTallyOf(buffer: SharedArrayBuffer, worker: number): void {
  const from = HEADER_CELLS + worker * WORKER_CELLS;
  new Int32Array(buffer).fill(0, from, from + WORKER_CELLS);
}
