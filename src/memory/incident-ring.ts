/** A security incident as the ring keeps it. docs/endpoints.md#incidents */
export interface Incident {
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly clientIp: string;
  readonly method: string;
  /** The raw target up to its query. */
  readonly path: string;
  readonly category: string;
  /** The rule with the highest score, the first on a tie. */
  readonly ruleId: string;
  readonly anomalyScore: number;
  readonly action: string;
  /** What was found and its surroundings, at most 256 characters of printable ASCII. */
  readonly payloadSnippet: string;
  /** The part of the request with the parameter, field, cookie or member, such as `query id`. */
  readonly location: string;
}

/** Incidents that are kept; older ones make room. docs/endpoints.md#incidents */
export const INCIDENTS_KEPT = 1000;

/**
 * The last incidents of all workers in shared memory: any number of writers, one of them a thread, and one reader.
 *
 *     incidents so far (BigInt64) | slots, one an incident that is kept
 *     slot: state, checksum (Int32) | number, timestamp, score (Float64) | length of each text (Uint16) | texts (UTF-8)
 *
 * The n-th incident goes to slot n mod slots. A slot's state says who may touch it:
 *
 *     0 empty ──▶ -(writer+1) being written ──▶ 1…2^30 full ──▶ -(writer+1) …
 *
 * A writer that finds a slot taken gives its incident up (it is counted none the less): that takes a whole round of the
 * ring during one write. A reader that finds a slot being written, or changed while it copied it, passes it over. The
 * checksum catches what is left: processors that let plain stores overtake the state.
 *
 * @param slots incidents that are kept
 */
export function createIncidentRing(slots: number = INCIDENTS_KEPT): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + slots * SLOT_BYTES);
}

/** A thread's way to record incidents. */
export class IncidentWriter {
  private readonly ring: RingViews;
  private readonly held: number;

  /** @param writer number of the thread, from 0 on; no two threads that live at once may share one */
  constructor(buffer: SharedArrayBuffer, writer: number) {
    this.ring = new RingViews(buffer);
    this.held = -(writer + 1);
    // What a thread with this number held when it died is open to all again.
    for (let slot = 0; slot < this.ring.slots; slot++) {
      Atomics.compareExchange(this.ring.ints, stateAt(slot), this.held, 0);
    }
  }

  /** Records an incident; texts beyond their limits are cut. */
  record(incident: Incident): void {
    const { ring, held } = this;
    const number = Number(Atomics.add(ring.total, 0, 1n));
    const slot = number % ring.slots;
    const at = stateAt(slot);
    const state = Atomics.load(ring.ints, at);
    if (state < 0 || Atomics.compareExchange(ring.ints, at, state, held) !== state) return;
    const numberAt = (slotAt(slot) + NUMBER_OFFSET) / 8;
    if (state > 0 && ring.floats[numberAt]! > number) {
      // Overtaken by a whole round while this thread was stalled: the newer incident stays.
      Atomics.store(ring.ints, at, state);
      return;
    }
    ring.floats[numberAt] = number;
    ring.floats[numberAt + 1] = incident.timestampMs;
    ring.floats[numberAt + 2] = incident.anomalyScore;
    const from = slotAt(slot);
    const to = writeTexts(ring.bytes, from, incident);
    ring.ints[at + 1] = checksum(ring.bytes, from + NUMBER_OFFSET, to);
    Atomics.store(ring.ints, at, (number % VERSIONS) + 1);
  }
}

/** The control thread's view of the ring. */
export class IncidentReader {
  private readonly ring: RingViews;
  private readonly copy: Buffer = Buffer.alloc(SLOT_BYTES);
  private readonly copyView: DataView = new DataView(this.copy.buffer, this.copy.byteOffset, SLOT_BYTES);

  constructor(buffer: SharedArrayBuffer) {
    this.ring = new RingViews(buffer);
  }

  /** Number of incidents since the process started, those no longer kept included. */
  total(): number {
    return Number(Atomics.load(this.ring.total, 0));
  }

  /**
   * The newest incidents first.
   * @param limit the most to give
   * @param sinceMs gives those at or after this time only, in milliseconds since the epoch
   */
  recent(limit: number, sinceMs: number): Incident[] {
    const found: Incident[] = [];
    const total = this.total();
    const oldest = Math.max(0, total - this.ring.slots);
    for (let number = total - 1; number >= oldest && found.length < limit; number--) {
      const incident = this.read(number);
      if (incident !== null && incident.timestampMs >= sinceMs) found.push(incident);
    }
    return found;
  }

  /** The incident with this number, or null when its slot does not hold it whole. */
  private read(number: number): Incident | null {
    const { ring, copy, copyView } = this;
    const slot = number % ring.slots;
    const at = stateAt(slot);
    const state = Atomics.load(ring.ints, at);
    if (state !== (number % VERSIONS) + 1) return null;
    copy.set(ring.bytes.subarray(slotAt(slot), slotAt(slot) + SLOT_BYTES));
    // A compare-and-exchange, not a load: the copy above cannot sink below it.
    if (Atomics.compareExchange(ring.ints, at, state, state) !== state) return null;
    if (copyView.getFloat64(NUMBER_OFFSET, true) !== number) return null;
    const end = textsEnd(copyView);
    if (end > SLOT_BYTES || copyView.getInt32(4, true) !== checksum(copy, NUMBER_OFFSET, end)) return null;
    return readIncident(copy, copyView);
  }
}

/** The ring seen as the kinds of numbers it holds. Typed arrays are little-endian wherever this runs. */
class RingViews {
  readonly slots: number;
  readonly total: BigInt64Array;
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly bytes: Buffer;

  constructor(buffer: SharedArrayBuffer) {
    this.slots = (buffer.byteLength - HEADER_BYTES) / SLOT_BYTES;
    this.total = new BigInt64Array(buffer, 0, 1);
    this.ints = new Int32Array(buffer);
    this.floats = new Float64Array(buffer);
    this.bytes = Buffer.from(buffer);
  }
}

/** Writes the texts of an incident into the slot that begins at `from`; gives the offset after the last one. */
function writeTexts(bytes: Buffer, from: number, incident: Incident): number {
  let to = from + TEXTS_OFFSET;
  for (let i = 0; i < TEXTS.length; i++) {
    const { name, chars, bytes: limit } = TEXTS[i]!;
    const value = incident[name];
    // Never a part of a character: `utf8Write` stops before one that does not fit.
    const length = bytes.utf8Write(value.length > chars ? value.slice(0, chars) : value, to, limit);
    bytes.writeUInt16LE(length, from + LENGTHS_OFFSET + i * 2);
    to += length;
  }
  return to;
}

/** Offset after the last text of a copied slot. */
function textsEnd(view: DataView): number {
  let end = TEXTS_OFFSET;
  for (let i = 0; i < TEXTS.length; i++) end += view.getUint16(LENGTHS_OFFSET + i * 2, true);
  return end;
}

function readIncident(copy: Buffer, view: DataView): Incident {
  let at = TEXTS_OFFSET;
  const next = (index: number): string => {
    const from = at;
    at += view.getUint16(LENGTHS_OFFSET + index * 2, true);
    return copy.toString("utf8", from, at);
  };
  const [clientIp, method, path, category, ruleId, action, payloadSnippet, location] = TEXTS.map((_, i) => next(i));
  return {
    timestampMs: view.getFloat64(NUMBER_OFFSET + 8, true),
    clientIp: clientIp!,
    method: method!,
    path: path!,
    category: category!,
    ruleId: ruleId!,
    anomalyScore: view.getFloat64(NUMBER_OFFSET + 16, true),
    action: action!,
    payloadSnippet: payloadSnippet!,
    location: location!,
  };
}

/** FNV-1a over `bytes[from, to)`. */
function checksum(bytes: Uint8Array, from: number, to: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < to; i++) hash = Math.imul(hash ^ bytes[i]!, 0x01000193);
  return hash | 0;
}

function slotAt(slot: number): number {
  return HEADER_BYTES + slot * SLOT_BYTES;
}

/** Index of a slot's state among the Int32s; its checksum is behind it. */
function stateAt(slot: number): number {
  return slotAt(slot) / 4;
}

type TextName = "clientIp" | "method" | "path" | "category" | "ruleId" | "action" | "payloadSnippet" | "location";

/** The texts of a slot in their order, with the most characters and bytes of each. */
const TEXTS: readonly { readonly name: TextName; readonly chars: number; readonly bytes: number }[] = [
  { name: "clientIp", chars: 64, bytes: 64 },
  { name: "method", chars: 32, bytes: 32 },
  { name: "path", chars: 512, bytes: 1024 },
  { name: "category", chars: 32, bytes: 32 },
  { name: "ruleId", chars: 48, bytes: 48 },
  { name: "action", chars: 16, bytes: 16 },
  { name: "payloadSnippet", chars: 256, bytes: 768 },
  { name: "location", chars: 272, bytes: 272 },
];

const HEADER_BYTES = 8;
const NUMBER_OFFSET = 8;
const LENGTHS_OFFSET = NUMBER_OFFSET + 24;
const TEXTS_OFFSET = LENGTHS_OFFSET + TEXTS.length * 2;
/** A multiple of 8; the texts take 2256 bytes at most. */
const SLOT_BYTES = 2304;
/** States of a full slot before they come round again: no reader sleeps that long. */
const VERSIONS = 2 ** 30;
