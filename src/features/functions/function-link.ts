import { readChange } from "./hooked-request.ts";
import { readLine } from "./said.ts";
import { ThreadPlaces } from "./thread-places.ts";
import {
  Batch,
  type FunctionLine,
  LARGE_PIECE_BYTES,
  type LargePiece,
  MAX_PIECE_BYTES,
  RecordFault,
  Records,
  WireCell,
  WireWord,
} from "./wire.ts";

/** A call, or a request of `ctx.upstream()`, as the data worker has it under way. */
export interface LinkCall {
  /** The fields of the record are to be read to its end. */
  onRecord(word: WireWord, records: Records): void;
  onPiece(bytes: Uint8Array): void;
  /** A request of `ctx.upstream()`, which the thread has numbered; the fields are to be read likewise. */
  onUpstream?(id: number, records: Records): void;
  /** The thread has ended. */
  onDeath(death: ThreadDeath): void;
}

/** How a thread has ended, as one of its calls sees it. */
export interface ThreadDeath {
  /** Whether the thread had begun the call. */
  readonly hasBegun: boolean;
  /** Whether the call is what the thread did not come back from. */
  readonly isCulprit: boolean;
}

/** A call that a thread runs, though its time is over. */
export interface OverdueCall {
  readonly id: number;
  /** What it may take, in milliseconds. */
  readonly timeoutMs: number;
}

/** What links ask of their worker. */
export interface LinkPorts {
  /** Runs what a message of the thread causes, as a turn of the event loop. */
  inTurn(work: () => void): void;
  onException(error: unknown): void;
  /** What a thread says cannot be read: it is to be replaced. */
  onBroken(thread: number): void;
  /** It does not come back from a call whose time is over. */
  onOverdue(thread: number, call: OverdueCall): void;
  /** What a module logs, whatever has become of the call that it belongs to. */
  onLine(module: string, line: FunctionLine): void;
}

const LAST_ID = 0x7ffffffe;

/** Whether a number was given before another one, or is the same, where numbers begin anew after LAST_ID. */
function isUpTo(id: number, other: number): boolean {
  return ((other - id) & LAST_ID) <= LAST_ID / 2;
}

/** A data worker's end of the way to one thread of a module. */
export class FunctionLink {
  /** Names the thread, for the life of the process. */
  readonly thread: number;
  /** Requests that the thread has of this worker. */
  load = 0;
  readonly places: ThreadPlaces;
  /** Whether new requests go elsewhere. */
  isRetired = false;
  private readonly module: string;
  private readonly port: MessagePort;
  private readonly cells: Int32Array;
  private readonly worker: number;
  private readonly ports: LinkPorts;
  private readonly onIdle: (link: FunctionLink) => void;
  private readonly batch: Batch = new Batch();
  private readonly calls: Map<number, LinkCall> = new Map();
  private isScheduled = false;
  private lastId = 0;

  /**
   * @param cells of the thread; see Cell
   * @param worker the number of this data worker
   * @param onIdle called when the last request of a retired thread is over
   */
  constructor(
    { thread, module }: { readonly thread: number; readonly module: string },
    port: MessagePort,
    cells: SharedArrayBuffer,
    worker: number,
    ports: LinkPorts,
    onIdle: (link: FunctionLink) => void,
  ) {
    this.thread = thread;
    this.module = module;
    this.port = port;
    this.cells = new Int32Array(cells);
    this.places = new ThreadPlaces(this.cells, worker);
    this.worker = worker;
    this.ports = ports;
    this.onIdle = onIdle;
    // Numbers go on where those of the data worker before this one ended: what the cells say of its calls is true of none of these.
    this.lastId = Atomics.load(this.cells, WireCell.Begun + worker);
    port.onmessage = ({ data }: { readonly data: string | LargePiece }) => ports.inTurn(() => this.receive(data));
  }

  /** Gives a call its number, and the place among the requests of the thread that has been taken for it. Numbers are even, and begin anew beyond 31 bits: cells hold them. */
  open(call: LinkCall): number {
    do this.lastId = (this.lastId + 2) & LAST_ID;
    while (this.lastId === 0 || this.calls.has(this.lastId));
    this.calls.set(this.lastId, call);
    this.load++;
    return this.lastId;
  }

  /** Another exchange of a call, which the thread has numbered. */
  attach(id: number, call: LinkCall): void {
    this.calls.set(id, call);
  }

  detach(id: number): void {
    this.calls.delete(id);
  }

  /** The call is over. */
  close(id: number): void {
    if (!this.calls.delete(id)) return;
    this.load--;
    this.places.give();
    if (this.isRetired && this.load === 0) this.onIdle(this);
  }

  /** A call has had its time: the thread learns of it, and if it does not come back from that very call, the control thread does, too. */
  overdue(id: number, timeoutMs: number): void {
    this.record(WireWord.Cancel, id);
    const { cells, worker } = this;
    if (Atomics.load(cells, WireCell.Current) !== id || Atomics.load(cells, WireCell.CurrentWorker) !== worker) return;
    this.ports.onOverdue(this.thread, { id, timeoutMs });
  }

  /** Calls back, in a turn, once the thread may have a place for what waits here. */
  whenPlace(onPlace: () => void): void {
    this.places.listen(() => this.ports.inTurn(onPlace));
  }

  /** Begins a record, which leaves when all that can be read now has been. */
  record(word: WireWord, id: number): Batch {
    if (!this.isScheduled) {
      this.isScheduled = true;
      setImmediate(this.flush);
    }
    this.batch.begin(word, id);
    return this.batch;
  }

  /** Sends a piece of a body, by copying it. */
  body(id: number, bytes: Uint8Array, from: number, to: number): void {
    if (to - from < LARGE_PIECE_BYTES) {
      this.record(WireWord.Body, id).rawBytes(bytes, from, to);
      return;
    }
    // What came before it must be read before it.
    this.post();
    for (let at = from; at < to; at += MAX_PIECE_BYTES) {
      const piece = Uint8Array.prototype.slice.call(bytes, at, Math.min(at + MAX_PIECE_BYTES, to));
      this.port.postMessage([id, piece] satisfies LargePiece, [piece.buffer as ArrayBuffer]);
    }
  }

  /**
   * The thread has ended: so have its calls.
   * @param culprit what it did not come back from; see ThreadDeath
   */
  die(culprit: { readonly worker: number; readonly id: number }): void {
    this.isRetired = true;
    this.port.close();
    const begun = Atomics.load(this.cells, WireCell.Begun + this.worker);
    const calls = [...this.calls];
    this.calls.clear();
    this.load = 0;
    for (const [id, call] of calls) {
      const isCulprit = culprit.worker === this.worker && culprit.id === id;
      call.onDeath({ hasBegun: id % 2 === 1 || isUpTo(id, begun), isCulprit });
    }
  }

  /** Nothing more will be said. */
  end(): void {
    this.port.close();
  }

  private readonly flush = (): void => {
    this.isScheduled = false;
    this.post();
  };

  private post(): void {
    if (!this.batch.isEmpty) this.port.postMessage(this.batch.take());
  }

  private ask(records: Records): void {
    const { id } = records;
    const call = this.calls.get(records.number());
    if (call?.onUpstream === undefined) skipUpstream(records);
    else call.onUpstream(id, records);
  }

  private receive(data: string | LargePiece): void {
    try {
      if (typeof data === "string") this.read(new Records(data));
      else if (isPiece(data)) this.calls.get(data[0])?.onPiece(data[1]);
      else throw new RecordFault("a message that is none");
    } catch (error) {
      // What follows in the batch cannot be found any more.
      if (!(error instanceof RecordFault)) this.ports.onException(error);
      this.ports.onBroken(this.thread);
    }
  }

  private read(records: Records): void {
    while (records.next()) {
      if (records.word === WireWord.Upstream) this.ask(records);
      else if (records.word === WireWord.Log) this.ports.onLine(this.module, readLine(records));
      else (this.calls.get(records.id) ?? NO_CALL).onRecord(records.word, records);
    }
  }
}

/** Reads over the record of a call that is over. */
const NO_CALL: LinkCall = {
  onRecord(word, records): void {
    if (word === WireWord.Body) records.raw();
    else if (word === WireWord.Taken || word === WireWord.Failed) records.line();
    else if (word === WireWord.Response) skipResponse(records);
    else if (word === WireWord.Changed) {
      readChange(records);
    } else if (word === WireWord.Upgrade) {
      records.line();
      records.fields();
    }
  },
  onPiece(): void {},
  onDeath(): void {},
};

function isPiece(data: unknown): data is LargePiece {
  return Array.isArray(data) && data.length === 2 && Number.isInteger(data[0]) && data[1] instanceof Uint8Array;
}

function skipResponse(records: Records): void {
  records.line();
  records.fields();
  records.line();
  if (records.line() === "1") records.raw();
}

function skipUpstream(records: Records): void {
  records.line();
  records.line();
  records.fields();
  records.line();
  if (records.line() === "1") records.raw();
}
