// The hostile requests as bytes. docs/tools.md#attacks

/** Bytes of the header line of ADV-07, and the length that ADV-08 declares. */
const LOAD_ATTACK_LINE_BYTES = 9000;
const LOAD_ATTACK_BODY_BYTES = 100 * 1024 * 1024;

/** One attack and the status that it should get. */
export interface Attack {
  readonly id: string;
  readonly name: string;
  readonly expected: number;
  readonly bytes: Buffer;
}

const BOTH = ["Content-Length: 6", "Transfer-Encoding: chunked"];

/**
 * ADV-01 to ADV-08.
 * @param path of a route; that of the benign stream
 * @param authority for the Host field
 */
export function attacksOn(path: string, authority: string): Attack[] {
  const post = `POST ${path} HTTP/1.1`;
  const get = `GET ${path} HTTP/1.1`;
  const attack = (id: string, name: string, expected: number, [start, ...lines]: string[], body = ""): Attack => {
    const text = [start, `Host: ${authority}`, ...lines, "", body].join("\r\n");
    return { id, name, expected, bytes: Buffer.from(text, "latin1") };
  };
  return [
    attack("ADV-01", "Content-Length, then Transfer-Encoding", 400, [post, ...BOTH], "0\r\n\r\nG"),
    attack("ADV-02", "Transfer-Encoding, then Content-Length", 400, [post, ...BOTH.toReversed()], "0\r\n\r\nG"),
    attack("ADV-03", "NUL in the request target", 400, [`GET ${path}\0 HTTP/1.1`]),
    attack("ADV-04", "folded header line", 400, [get, "X-Folded: a", " b"]),
    attack("ADV-05", "space before the colon", 400, [get, "X-Spaced : a"]),
    attack("ADV-06", "path traversal", 403, ["GET /../../etc/passwd HTTP/1.1"]),
    attack("ADV-07", "header line over 8 KB", 431, [get, `X-Long: ${"a".repeat(LOAD_ATTACK_LINE_BYTES)}`]),
    attack("ADV-08", "declared body of 100 MB", 413, [post, `Content-Length: ${LOAD_ATTACK_BODY_BYTES}`]),
  ];
}
