// FastCGI, written apart from the gateway's: what that sends is read by this, and what it reads is made by this.

/** A record. */
export interface FastCgiRecord {
  readonly type: number;
  readonly id: number;
  readonly content: Buffer;
}

/** A request, once all of its records are there. */
export interface FastCgiRequest {
  readonly id: number;
  readonly role: number;
  readonly keepsConnection: boolean;
  readonly params: ReadonlyMap<string, string>;
  /** Names in their order, with those that come twice. */
  readonly names: readonly string[];
  readonly body: Buffer;
}

export const BEGIN = 1;
export const ABORT = 2;
export const END = 3;
export const PARAMS = 4;
export const STDIN = 5;
export const STDOUT = 6;
export const STDERR = 7;

/** A record as bytes. */
export function record(
  type: number,
  content: string | Uint8Array = "",
  { id = 1, padding = 0, version = 1 } = {},
): Buffer {
  const bytes = typeof content === "string" ? Buffer.from(content, "latin1") : Buffer.from(content);
  const header = Buffer.from([version, type, id >> 8, id & 255, bytes.length >> 8, bytes.length & 255, padding, 0]);
  return Buffer.concat([header, bytes, Buffer.alloc(padding, 0x55)]);
}

/** The record that ends a request. */
export function endRecord(protocolStatus = 0, appStatus = 0): Buffer {
  const content = Buffer.alloc(8);
  content.writeUInt32BE(appStatus);
  content[4] = protocolStatus;
  return record(END, content);
}

/** A whole response: its output in records of `size` bytes. */
export function responseOf(output: string | Uint8Array, size = 8184): Buffer {
  const bytes = typeof output === "string" ? Buffer.from(output, "latin1") : Buffer.from(output);
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) records.push(record(STDOUT, bytes.subarray(at, at + size)));
  return Buffer.concat([...records, record(STDOUT), endRecord()]);
}

/** Takes the whole records off the front of some bytes. */
export function readRecords(bytes: Buffer): { readonly records: FastCgiRecord[]; readonly rest: Buffer } {
  const records: FastCgiRecord[] = [];
  let at = 0;
  while (bytes.length - at >= 8) {
    const length = bytes.readUInt16BE(at + 4);
    const end = at + 8 + length + bytes[at + 6]!;
    if (end > bytes.length) break;
    if (bytes[at] !== 1) throw new Error(`version ${bytes[at]}`);
    const content = Buffer.from(bytes.subarray(at + 8, at + 8 + length));
    records.push({ type: bytes[at + 1]!, id: bytes.readUInt16BE(at + 2), content });
    at = end;
  }
  return { records, rest: bytes.subarray(at) };
}

/** Names and values, of the content of records of parameters. */
export function readParams(content: Buffer): [name: string, value: string][] {
  const params: [string, string][] = [];
  let at = 0;
  const length = (): number => {
    const first = content[at]!;
    if (first < 128) {
      at++;
      return first;
    }
    at += 4;
    return content.readUInt32BE(at - 4) & 0x7fffffff;
  };
  while (at < content.length) {
    const name = length();
    const value = length();
    if (at + name + value > content.length) throw new Error("a parameter that is cut off");
    params.push([content.latin1Slice(at, at + name), content.latin1Slice(at + name, at + name + value)]);
    at += name + value;
  }
  return params;
}

/** The request that some records are; undefined while its end is not there. Throws where it is none. */
export function readRequest(records: readonly FastCgiRecord[]): FastCgiRequest | undefined {
  const [begin, ...others] = records;
  if (begin === undefined) return undefined;
  if (begin.type !== BEGIN || begin.content.length !== 8) throw new Error(`begins with record ${begin.type}`);
  const params = streamOf(others, PARAMS);
  const body = streamOf(others, STDIN);
  if (params === null || body === null) return undefined;
  const pairs = readParams(params);
  return {
    id: begin.id,
    role: begin.content.readUInt16BE(0),
    keepsConnection: (begin.content[2]! & 1) === 1,
    params: new Map(pairs),
    names: pairs.map(([name]) => name),
    body,
  };
}

/** What a stream of records holds; null while it has no end. */
function streamOf(records: readonly FastCgiRecord[], type: number): Buffer | null {
  const own = records.filter((one) => one.type === type);
  const end = own.findIndex(({ content }) => content.length === 0);
  return end < 0 ? null : Buffer.concat(own.slice(0, end).map(({ content }) => content));
}
