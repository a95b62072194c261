import { Batch, LARGE_PIECE_BYTES, type LargePiece, Records, WireWord } from "../wire.ts";

/** Who takes what a data worker says of a call, or of a request of `ctx.upstream()`. */
export interface Receiver {
  /** The fields of the record are to be read, as far as they are there. */
  onResponse(records: Records): void;
  onBody(bytes: Uint8Array): void;
  onEnd(): void;
  onFault(): void;
  onTaken(bytes: number): void;
  onCancel(): void;
  onOver(): void;
}

/** What has something to say once the turn is over. */
export interface Late {
  beforeFlush(): void;
}

/** The thread's end of the way to one data worker. */
export class ThreadLink {
  /** The number of that data worker. */
  readonly worker: number;
  readonly out: Batch = new Batch();
  private readonly port: MessagePort;
  private readonly receivers: Map<number, Receiver> = new Map();
  private readonly begin: (link: ThreadLink, records: Records) => void;
  private late: Late[] = [];
  private isScheduled = false;
  /** Whether records are read now: what is said of them leaves when all have been. */
  private isReading = false;
  private lastId = -1;

  /** @param begin reads the record of a new call */
  constructor(port: MessagePort, worker: number, begin: (link: ThreadLink, records: Records) => void) {
    this.port = port;
    this.worker = worker;
    this.begin = begin;
    port.onmessage = ({ data }: { readonly data: string | LargePiece }) => {
      if (typeof data === "string") this.read(data);
      else this.receivers.get(data[0])?.onBody(data[1]);
    };
  }

  /** Numbers for requests of the thread's own are odd, those of data workers even. */
  nextId(): number {
    this.lastId += 2;
    return this.lastId;
  }

  add(id: number, receiver: Receiver): void {
    this.receivers.set(id, receiver);
  }

  remove(id: number): void {
    this.receivers.delete(id);
  }

  /** The data worker is gone. */
  disconnect(): void {
    this.port.close();
    for (const receiver of [...this.receivers.values()]) receiver.onCancel();
  }

  /** Begins a record, which is sent at the end of the turn. */
  record(word: WireWord, id: number): Batch {
    this.schedule();
    this.out.begin(word, id);
    return this.out;
  }

  /**
   * Sends a piece of a body.
   * @param isOwn whether no one else has it: it is sent without a copy then, if it is all of its memory
   * @returns whether its memory has been sent with it
   */
  body(id: number, bytes: Uint8Array, isOwn: boolean): boolean {
    if (bytes.length < LARGE_PIECE_BYTES) {
      this.record(WireWord.Body, id).rawBytes(bytes, 0, bytes.length);
      return false;
    }
    // What came before it must be read before it.
    this.post();
    const isWhole = isOwn && bytes.length === bytes.buffer.byteLength;
    // A copy: the module may send the same bytes again, or write to them.
    const piece = isWhole ? bytes : Uint8Array.prototype.slice.call(bytes);
    this.port.postMessage([id, piece] satisfies LargePiece, [piece.buffer as ArrayBuffer]);
    return isWhole;
  }

  /** Asks to be called before what this turn has to say is sent. */
  atEnd(late: Late): void {
    this.late.push(late);
    this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled || this.isReading) return;
    this.isScheduled = true;
    setImmediate(this.flush);
  }

  private readonly flush = (): void => {
    this.isScheduled = false;
    const { late } = this;
    this.late = [];
    for (const one of late) one.beforeFlush();
    this.post();
  };

  private post(): void {
    if (!this.out.isEmpty) this.port.postMessage(this.out.take());
  }

  /** What has been answered by its end leaves at once: a timer for it would be one more turn of the event loop. */
  private read(text: string): void {
    this.isReading = true;
    try {
      this.readAll(new Records(text));
    } finally {
      this.isReading = false;
      if (this.late.length > 0) this.schedule();
      else this.post();
    }
  }

  private readAll(records: Records): void {
    while (records.next()) {
      const { word, id } = records;
      if (word === WireWord.Request) this.begin(this, records);
      else if (word === WireWord.Response) this.respond(id, records);
      else if (word === WireWord.Body) {
        const bytes = records.bytes();
        this.receivers.get(id)?.onBody(bytes);
      } else if (word === WireWord.End) this.receivers.get(id)?.onEnd();
      else if (word === WireWord.Fault) this.receivers.get(id)?.onFault();
      else if (word === WireWord.Cancel) this.receivers.get(id)?.onCancel();
      else if (word === WireWord.Over) this.receivers.get(id)?.onOver();
      else if (word === WireWord.Taken) {
        const bytes = records.number();
        this.receivers.get(id)?.onTaken(bytes);
      } else throw new Error(`an unknown word ${word}`);
    }
  }

  private respond(id: number, records: Records): void {
    const receiver = this.receivers.get(id) ?? NO_RECEIVER;
    receiver.onResponse(records);
  }
}

/** The record of a response must be read even if the call is over. */
const NO_RECEIVER: Receiver = {
  onResponse(records): void {
    readResponse(records);
  },
  onBody(): void {},
  onEnd(): void {},
  onFault(): void {},
  onTaken(): void {},
  onCancel(): void {},
  onOver(): void {},
};

/** The head of a response, and its body where that came whole. */
interface ReadResponse {
  readonly status: number;
  readonly fields: [string, string][];
  /** "0" none, "1" whole, "2" it follows. */
  readonly mode: string;
  readonly body: Buffer | null;
}

/** Reads the fields of the record of a response. */
export function readResponse(records: Records): ReadResponse {
  const status = records.number();
  const fields = records.fields();
  const mode = records.line();
  return { status, fields, mode, body: mode === "1" ? records.bytes() : null };
}
