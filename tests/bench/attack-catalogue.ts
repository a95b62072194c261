// The hostile requests of the load generator's catalogue, as bytes. Spec, "Load generator and status classification".

/** One attack and the status that the contract wants for it. */
export interface Attack {
  readonly id: string;
  readonly expected: number;
  readonly bytes: Buffer;
}

/** Statuses of a refusal; everything else lets the attack through or is no answer to it. */
export const REFUSALS: readonly number[] = [400, 403, 413, 431, 501];

const LINE_BYTES = 9000;
const BODY_BYTES = 100 * 1024 * 1024;
const BOTH = ["Content-Length: 6", "Transfer-Encoding: chunked"];

/** ADV-01 to ADV-08, for a route at `path` that takes bodies. */
export function attacksOn(path: string): Attack[] {
  const post = `POST ${path} HTTP/1.1`;
  const get = `GET ${path} HTTP/1.1`;
  return [
    attack("ADV-01", 400, [post, ...BOTH], "0\r\n\r\nG"),
    attack("ADV-02", 400, [post, ...BOTH.toReversed()], "0\r\n\r\nG"),
    attack("ADV-03", 400, [`GET ${path}\0 HTTP/1.1`]),
    attack("ADV-04", 400, [get, "X-Folded: a", " b"]),
    attack("ADV-05", 400, [get, "X-Spaced : a"]),
    attack("ADV-06", 403, ["GET /../../etc/passwd HTTP/1.1"]),
    attack("ADV-07", 431, [get, `X-Long: ${"a".repeat(LINE_BYTES)}`]),
    attack("ADV-08", 413, [post, `Content-Length: ${BODY_BYTES}`]),
  ];
}

function attack(id: string, expected: number, [start, ...lines]: string[], body = ""): Attack {
  return { id, expected, bytes: Buffer.from([start, "Host: gw.test", ...lines, "", body].join("\r\n"), "latin1") };
}
