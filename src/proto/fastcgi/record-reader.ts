import { END_BYTES, HEADER_BYTES, ProtocolStatus, RecordType } from "./records.ts";

/** What the bytes of a response begin with. */
export const enum RecordEvent {
  /** They end within a header, or within what has no meaning by itself. */
  NeedMore = 0,
  /** Bytes of the script's output, `[from, to)`. */
  Output,
  /** Bytes of what the script says of errors, `[from, to)`. */
  ErrorText,
  /** The application has ended the request. */
  End,
  /** No response of the request that was sent. */
  Failed,
}

/**
 * Reads the records of one response after the other, whatever pieces they come in: it keeps at most a header and the content of
 * the record that ends a request. What another request, another version or another role would send is a failure.
 * FastCGI Specification 1.0, sections 3.3 and 5.5.
 */
export class RecordReader {
  /** The bytes of Output and ErrorText. */
  from = 0;
  to = 0;
  /** Offset after what `next` has read. */
  consumed = 0;
  /** How the application has ended the request, after End. */
  protocolStatus: ProtocolStatus = ProtocolStatus.RequestComplete;
  /** The beginning of a header that has come in pieces, which is seldom. */
  private header: Uint8Array | null = null;
  private headerBytes = 0;
  private type: RecordType = RecordType.Stdout;
  private contentLeft = 0;
  private paddingLeft = 0;
  /** The place within the record that ends a request. */
  private endAt = 0;
  private outputEnded = false;
  private isOver = false;

  /** Makes ready for the next response, over the same connection. */
  begin(): void {
    this.headerBytes = 0;
    this.contentLeft = 0;
    this.paddingLeft = 0;
    this.endAt = 0;
    this.outputEnded = false;
    this.isOver = false;
    this.protocolStatus = ProtocolStatus.RequestComplete;
  }

  /** Reads on from `at`. After NeedMore `consumed` is `to`. */
  next(bytes: Uint8Array, start: number, to: number): RecordEvent {
    let at = start;
    while (at < to) {
      if (this.contentLeft > 0) return this.readContent(bytes, at, to);
      if (this.paddingLeft > 0) {
        const skipped = Math.min(this.paddingLeft, to - at);
        this.paddingLeft -= skipped;
        at += skipped;
        continue;
      }
      // Padding of the last record may come after it; anything else is not asked for.
      if (this.isOver) return this.fail(at);
      if (this.headerBytes === 0 && to - at >= HEADER_BYTES) {
        at += HEADER_BYTES;
        if (!this.takeHeader(bytes, at - HEADER_BYTES)) return this.fail(at);
        continue;
      }
      this.header ??= new Uint8Array(HEADER_BYTES);
      this.header[this.headerBytes++] = bytes[at++]!;
      if (this.headerBytes < HEADER_BYTES) continue;
      this.headerBytes = 0;
      if (!this.takeHeader(this.header, 0)) return this.fail(at);
    }
    this.consumed = to;
    return RecordEvent.NeedMore;
  }

  private readContent(bytes: Uint8Array, at: number, to: number): RecordEvent {
    const end = Math.min(to, at + this.contentLeft);
    if (this.type === RecordType.EndRequest) return this.readEnd(bytes, at, end);
    this.contentLeft -= end - at;
    this.from = at;
    this.to = end;
    this.consumed = end;
    return this.type === RecordType.Stdout ? RecordEvent.Output : RecordEvent.ErrorText;
  }

  private readEnd(bytes: Uint8Array, start: number, end: number): RecordEvent {
    for (let at = start; at < end; at++) if (this.endAt++ === PROTOCOL_STATUS_AT) this.protocolStatus = bytes[at]!;
    this.contentLeft -= end - start;
    this.consumed = end;
    if (this.contentLeft > 0) return RecordEvent.NeedMore;
    this.isOver = true;
    return RecordEvent.End;
  }

  /** Reads the header at `at`, which is there whole. @returns whether the record belongs to the response */
  private takeHeader(bytes: Uint8Array, at: number): boolean {
    const type: number = bytes[at + 1]!;
    const length = bytes[at + 4]! * 256 + bytes[at + 5]!;
    const isOurs = bytes[at] === 1 && bytes[at + 2] === 0 && bytes[at + 3] === 1;
    const isKnown = type === RecordType.Stdout || type === RecordType.Stderr || type === RecordType.EndRequest;
    if (!isOurs || !isKnown) return false;
    if (type === RecordType.EndRequest && length !== END_BYTES) return false;
    if (type === RecordType.Stdout) {
      if (this.outputEnded) return false;
      this.outputEnded = length === 0;
    }
    this.type = type;
    this.contentLeft = length;
    this.paddingLeft = bytes[at + 6]!;
    return true;
  }

  private fail(at: number): RecordEvent {
    this.consumed = at;
    return RecordEvent.Failed;
  }
}

/** After four bytes of the application's own status. FastCGI Specification 1.0, section 5.5 */
const PROTOCOL_STATUS_AT = 4;
