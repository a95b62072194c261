// Questions for SRV records and their responses. RFC 1035 §4, RFC 2782.

/** A server of a service. */
export interface ServiceRecord {
  /** In lower case, without a dot at its end. */
  readonly host: string;
  readonly port: number;
  /** Of the lowest first. */
  readonly priority: number;
  readonly weight: number;
}

/** A response of a name server. */
export interface ServiceResponse {
  readonly records: readonly ServiceRecord[];
  /** The least of all records, in seconds. */
  readonly ttl: number;
  /** The code of the response: 0, 3 if the name does not exist, or a failure. */
  readonly code: number;
}

/** A question for the servers of a service, with recursion. @param name labels of at most 63 characters */
export function serviceQuestion(id: number, name: string): Buffer {
  const labels = name.replace(/\.$/, "").split(".");
  const parts = labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label, "latin1")]));
  const head = Buffer.from([id >> 8, id & 0xff, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
  return Buffer.concat([head, ...parts, Buffer.from([0, 0, SRV, 0, INTERNET]), LARGE_ANSWERS]);
}

/** Reads the response to a question. @returns null if it is none, or malformed */
export function serviceResponse(question: Buffer, bytes: Buffer): ServiceResponse | null {
  // The same id and the same question: a stray response, or a forged one, has another.
  const asked = question.subarray(0, question.length - LARGE_ANSWERS.length);
  if (bytes.length < asked.length || (bytes[2]! & 0x80) === 0 || bytes.readUInt16BE(4) !== 1) return null;
  if (bytes.readUInt16BE(0) !== asked.readUInt16BE(0) || !sameName(bytes, asked)) return null;
  const records: ServiceRecord[] = [];
  let ttl = Number.POSITIVE_INFINITY;
  let at = asked.length;
  for (let left = bytes.readUInt16BE(6); left > 0; left--) {
    at = afterName(bytes, at);
    if (at < 0 || at + 10 > bytes.length) return null;
    const dataAt = at + 10;
    const end = dataAt + bytes.readUInt16BE(at + 8);
    if (end > bytes.length) return null;
    if (bytes.readUInt16BE(at) === SRV) {
      const host = end - dataAt < 7 ? null : nameAt(bytes, dataAt + 6);
      if (host === null) return null;
      ttl = Math.min(ttl, bytes.readUInt32BE(at + 4));
      // A dot alone says that there is no such service.
      if (host !== "" && records.length < MAX_RECORDS)
        records.push({
          host,
          port: bytes.readUInt16BE(dataAt + 4),
          priority: bytes.readUInt16BE(dataAt),
          weight: bytes.readUInt16BE(dataAt + 2),
        });
    }
    at = end;
  }
  return { records, ttl, code: bytes[3]! & 0x0f };
}

/** Whether both have the same question; letters may differ in case. */
function sameName(bytes: Buffer, question: Buffer): boolean {
  const text = (of: Buffer) => of.toString("latin1", HEAD_BYTES, question.length).toLowerCase();
  return text(bytes) === text(question);
}

/** @returns the offset behind a name, or -1 */
function afterName(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; ) {
    const length = bytes[at]!;
    if (length === 0) return at + 1;
    if (length >= POINTER) return at + 2 <= bytes.length ? at + 2 : -1;
    at += length + 1;
  }
  return -1;
}

/** @returns null if it is malformed, goes round in circles or has bytes that no host name has */
function nameAt(bytes: Buffer, from: number): string | null {
  const labels: string[] = [];
  let at = from;
  for (let steps = 0; steps < MAX_STEPS && at < bytes.length; steps++) {
    const length = bytes[at]!;
    if (length === 0) return labels.join(".").toLowerCase();
    if (length >= POINTER) {
      if (at + 1 >= bytes.length) return null;
      at = bytes.readUInt16BE(at) & 0x3fff;
      continue;
    }
    if (length > MAX_LABEL || at + 1 + length > bytes.length) return null;
    const label = bytes.toString("latin1", at + 1, at + 1 + length);
    if (!/^[\w-]+$/.test(label)) return null;
    labels.push(label);
    at += length + 1;
  }
  return null;
}

/** Responses of up to 4096 bytes are welcome. RFC 6891 */
const LARGE_ANSWERS: Buffer = Buffer.from([0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0]);
const SRV = 33;
const INTERNET = 1;
const HEAD_BYTES = 12;
const POINTER = 0xc0;
const MAX_LABEL = 63;
/** Labels and pointers of one name. */
const MAX_STEPS = 130;
/** Servers of one service. */
const MAX_RECORDS = 64;
