/** One answer as a client reads it. */
export interface ReplyText {
  readonly status: number;
  /** Names in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Reads answers one behind the other, as a strict client would.
 * @param toHead places of the answers that have no body whatever their fields say
 * @throws where something is left over or cut
 */
export function repliesIn(text: string, toHead: readonly number[] = []): ReplyText[] {
  const replies: ReplyText[] = [];
  for (let at = 0; at < text.length; ) {
    const headEnd = text.indexOf("\r\n\r\n", at);
    if (headEnd < 0) throw new Error(`a head is cut: ${JSON.stringify(text.slice(at, at + 200))}`);
    const [line = "", ...lines] = text.slice(at, headEnd).split("\r\n");
    const match = /^HTTP\/1\.1 (\d{3}) [^\r\n]*$/.exec(line);
    if (match === null) throw new Error(`not a status line: ${JSON.stringify(line)}`);
    const status = Number(match[1]);
    const fields = new Map(lines.map((each) => pairOf(each)));
    const bodyFrom = headEnd + 4;
    const isBodyless = toHead.includes(replies.length) || status < 200 || status === 204 || status === 304;
    const end = isBodyless ? bodyFrom : bodyEnd(text, bodyFrom, fields);
    replies.push({ status, fields, body: text.slice(bodyFrom, end) });
    at = end;
  }
  return replies;
}

/** The statuses of the answers in a text. */
export function statusesIn(text: string): number[] {
  return repliesIn(text).map((reply) => reply.status);
}

function pairOf(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

function bodyEnd(text: string, from: number, fields: ReadonlyMap<string, string>): number {
  if (fields.get("transfer-encoding") === "chunked") {
    const end = text.indexOf("0\r\n\r\n", from);
    if (end < 0) throw new Error("a chunked body is cut");
    return end + 5;
  }
  const end = from + Number(fields.get("content-length"));
  if (!(end <= text.length))
    throw new Error(`a body is cut, or its length is unknown: ${text.slice(from, from + 100)}`);
  return end;
}
