/** Records of FastCGI: a header of eight bytes, content, padding. The sections are those of the FastCGI Specification 1.0; section 3.3. */

/** Bytes of a record's header. */
export const HEADER_BYTES = 8;
/** Content of one record at most. */
export const MAX_CONTENT_BYTES = 65_535;
/** Content of a record that ends a request. Section 5.5 */
export const END_BYTES = 8;

/** Types of records that a gateway sends and gets. Section 8 */
export const enum RecordType {
  BeginRequest = 1,
  AbortRequest = 2,
  EndRequest = 3,
  Params = 4,
  Stdin = 5,
  Stdout = 6,
  Stderr = 7,
}

/** How an application says that a request is over. Section 5.5 */
export const enum ProtocolStatus {
  RequestComplete = 0,
  CantMultiplex,
  Overloaded,
  UnknownRole,
}

const VERSION = 1;
/** One request at a time goes over a connection, so that every one of them has this id. */
const REQUEST_ID = 1;
const ROLE_RESPONDER = 1;
const KEEP_CONNECTION = 1;

/**
 * Writes the header of a record without padding.
 * @param length of its content, up to MAX_CONTENT_BYTES
 * @returns the offset after it
 */
export function writeHeader(out: Buffer, at: number, type: RecordType, length: number): number {
  out[at] = VERSION;
  out[at + 1] = type;
  out[at + 2] = 0;
  out[at + 3] = REQUEST_ID;
  out[at + 4] = length >>> 8;
  out[at + 5] = length & 0xff;
  out[at + 6] = 0;
  out[at + 7] = 0;
  return at + HEADER_BYTES;
}

/** Writes the record that begins a request of the role "responder". @returns the offset after it */
export function writeBegin(out: Buffer, start: number, keepsConnection: boolean): number {
  const at = writeHeader(out, start, RecordType.BeginRequest, BEGIN_BYTES);
  out.fill(0, at, at + BEGIN_BYTES);
  out[at + 1] = ROLE_RESPONDER;
  if (keepsConnection) out[at + 2] = KEEP_CONNECTION;
  return at + BEGIN_BYTES;
}

/** Bytes that `writeBegin` writes. */
export const BEGIN_RECORD_BYTES: number = HEADER_BYTES + 8;
const BEGIN_BYTES = 8;

/** The record that gives a request up. Section 5.4 */
export const ABORT_RECORD: Buffer = recordOf(RecordType.AbortRequest);
/** The record that ends a request's body. Section 5.3 */
export const END_OF_STDIN: Buffer = recordOf(RecordType.Stdin);

/** A record without content. */
function recordOf(type: RecordType): Buffer {
  const record = Buffer.alloc(HEADER_BYTES);
  writeHeader(record, 0, type, 0);
  return record;
}

/**
 * Bytes that framing `length` bytes of parameters takes beside them: a header for each record, and the empty record that ends
 * them. The first header stands before the parameters already.
 */
export function paramsFramingBound(length: number): number {
  return HEADER_BYTES * (Math.ceil(length / MAX_CONTENT_BYTES) + 2);
}

/**
 * Makes records of parameters that stand in `out[from, to)`, after HEADER_BYTES of room: one as a rule, more where one cannot
 * hold them, and the empty one that ends them.
 * @returns the offset after the last record
 */
export function frameParams(out: Buffer, from: number, to: number): number {
  const length = to - from;
  if (length > MAX_CONTENT_BYTES) return frameLongParams(out, from, to);
  writeHeader(out, from - HEADER_BYTES, RecordType.Params, length);
  return writeHeader(out, to, RecordType.Params, 0);
}

function frameLongParams(out: Buffer, from: number, to: number): number {
  const params = Buffer.from(out.subarray(from, to));
  let at = from - HEADER_BYTES;
  for (let done = 0; done < params.length; done += MAX_CONTENT_BYTES) {
    const end = Math.min(params.length, done + MAX_CONTENT_BYTES);
    at = writeHeader(out, at, RecordType.Params, end - done);
    at += params.copy(out, at, done, end);
  }
  return writeHeader(out, at, RecordType.Params, 0);
}
