// The HTTP/1.1 vectors of docs/tools.md#multihop, as bytes. Where one describes a class, its best-known members are here,
// each with what it hides: a second request that an origin must never see.
import { type Probe, type ProbeAddress, Requirement, SMUGGLED_FIELD, TOKEN_FIELD, type Vector } from "./vector.ts";

const TEARDOWN = "400 and connection closed";

/** VECTOR-04, 05, 06, 09, 10. */
export const H1_VECTORS: readonly Vector[] = [
  {
    id: "VECTOR-04",
    name: "both Content-Length and Transfer-Encoding",
    protocol: "HTTP/1.1",
    requirement: Requirement.Refused,
    expected: TEARDOWN,
    probes: [
      probe("the length covers a second request after the last chunk", (at) => hiddenBehindChunks(at, [])),
      probe("a chunk holds a second request beyond the length", hiddenInChunk),
    ],
  },
  {
    id: "VECTOR-05",
    name: "whitespace before the colon of a header name",
    protocol: "HTTP/1.1",
    requirement: Requirement.Refused,
    expected: TEARDOWN,
    probes: [
      probe("Transfer-Encoding, space, colon", (at) => {
        const body = `0\r\n\r\n${smuggled(at)}`;
        return post(at, [`Content-Length: ${body.length}`, "Transfer-Encoding : chunked"], body);
      }),
      probe("Content-Length, space, colon", (at) => {
        const body = smuggled(at);
        return post(at, [`Content-Length : ${body.length}`], body);
      }),
      probe("a tab before the colon", (at) => post(at, ["X-Probe\t: 1", "Content-Length: 2"], "ab")),
    ],
  },
  {
    id: "VECTOR-06",
    name: "pipelined smuggling prefix",
    protocol: "HTTP/1.1",
    requirement: Requirement.Refused,
    expected: "400 and socket closed before any pipelined request runs",
    probes: [
      probe("after two lengths that agree", (at) =>
        post(at, ["Content-Length: 5", "Transfer-Encoding: chunked"], `0\r\n\r\n${pipelined(at)}`),
      ),
      probe("one byte before the next request", (at) =>
        post(at, ["Content-Length: 6", "Transfer-Encoding: chunked"], `0\r\n\r\nG${pipelined(at)}`),
      ),
      probe("after a folded Transfer-Encoding", (at) =>
        hiddenBehindLength(at, ["X-Fold: a\r\n Transfer-Encoding: chunked"]),
      ),
      probe("after a Transfer-Encoding that follows a bare LF", (at) =>
        hiddenBehindLength(at, ["X-Line: a\nTransfer-Encoding: chunked"]),
      ),
      probe("after a chunk extension with a bare LF", (at) =>
        post(at, ["Transfer-Encoding: chunked"], `2;\nxx\r\n10\r\n0\r\n\r\n${pipelined(at)}`),
      ),
    ],
  },
  {
    id: "VECTOR-09",
    name: "benign GET of a health path through a route prefix",
    protocol: "HTTP/1.1",
    requirement: Requirement.Forwarded,
    expected: "proxied, 200",
    probes: [
      probe("GET /health", (at) => Buffer.from(`GET ${at.prefix}/health HTTP/1.1\r\n${ownFields(at)}\r\n`, "latin1")),
    ],
    forwards: { method: "GET", path: "/health", body: () => Buffer.alloc(0), isEcho: false },
  },
  {
    id: "VECTOR-10",
    name: "benign POST with a JSON body to an echo path",
    protocol: "HTTP/1.1",
    requirement: Requirement.Forwarded,
    expected: "proxied, 200",
    probes: [
      probe("POST /echo", (at) => {
        const body = jsonBody(at.token);
        return post(at, ["Content-Type: application/json", `Content-Length: ${body.length}`], body.toString("latin1"));
      }),
    ],
    forwards: { method: "POST", path: "/echo", body: jsonBody, isEcho: true },
  },
];

/** A request of its own, for an origin that is reached past the gateway. */
export function smuggled(at: ProbeAddress): string {
  return `GET /canary HTTP/1.1\r\nHost: ${at.authority}\r\n${SMUGGLED_FIELD}: ${at.token}\r\n\r\n`;
}

function probe(name: string, bytes: (at: ProbeAddress) => Buffer): Probe {
  return { protocol: "HTTP/1.1", name, bytes };
}

/** A second request for the gateway itself to run. */
function pipelined(at: ProbeAddress): string {
  return `GET ${at.prefix}/canary HTTP/1.1\r\nHost: ${at.authority}\r\n${SMUGGLED_FIELD}: ${at.token}\r\n\r\n`;
}

/** Who counts by the length forwards a second request; who counts by the chunks runs it. */
function hiddenBehindChunks(at: ProbeAddress, lines: readonly string[]): Buffer {
  const body = `0\r\n\r\n${smuggled(at)}`;
  return post(at, [`Content-Length: ${body.length}`, "Transfer-Encoding: chunked", ...lines], body);
}

/** The same, with the Transfer-Encoding in a line that not every parser accepts. */
function hiddenBehindLength(at: ProbeAddress, lines: readonly string[]): Buffer {
  const body = `0\r\n\r\n${smuggled(at)}`;
  return post(at, [...lines, `Content-Length: ${body.length}`], body);
}

/** Who counts by the chunks forwards a second request; who counts by the length runs it. */
function hiddenInChunk(at: ProbeAddress): Buffer {
  const hidden = smuggled(at);
  const size = hidden.length.toString(16);
  const lines = ["Transfer-Encoding: chunked", `Content-Length: ${size.length + 2}`];
  return post(at, lines, `${size}\r\n${hidden}\r\n0\r\n\r\n`);
}

function post(at: ProbeAddress, lines: readonly string[], body: string): Buffer {
  const head = `POST ${at.prefix}/echo HTTP/1.1\r\n${ownFields(at)}${lines.join("\r\n")}\r\n\r\n`;
  return Buffer.from(head + body, "latin1");
}

function ownFields(at: ProbeAddress): string {
  return `Host: ${at.authority}\r\n${TOKEN_FIELD}: ${at.token}\r\n`;
}

function jsonBody(token: string): Buffer {
  return Buffer.from(JSON.stringify({ multihop: token, numbers: [1, 2, 3] }));
}
