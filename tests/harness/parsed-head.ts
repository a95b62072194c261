import { expect } from "bun:test";
import { RequestHead, type Sender } from "../../src/message/request-head.ts";
import { RequestParser } from "../../src/proto/h1/request-parser.ts";

/**
 * A request to a.test as the parser of HTTP/1.1 leaves it; null where it refuses it.
 * @param start the request line without its version
 * @param lines header lines
 * @param sender whom it is from; the head's own default without it
 */
export function parseHead(start: string, lines: readonly string[] = [], sender?: Sender): RequestHead | null {
  const text = [`${start} HTTP/1.1`, "Host: a.test", ...lines, "", ""].join("\r\n");
  const bytes = Buffer.from(text, "latin1");
  const head = new RequestHead(sender);
  const parser = new RequestParser(65_536);
  head.reset(bytes);
  parser.begin(0);
  return parser.parse(bytes, bytes.length, head) > 0 ? head : null;
}

/** Like `parseHead`, of a request that the parser must take. */
export function parsedHead(...request: Parameters<typeof parseHead>): RequestHead {
  const head = parseHead(...request);
  expect(head).not.toBeNull();
  return head!;
}
