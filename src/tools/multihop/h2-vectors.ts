// The HTTP/2 vectors of docs/tools.md#multihop, as fields and data. What a gateway that translates to HTTP/1.1 without
// looking would write for its origin is in each of them.
import { smuggled } from "./h1-vectors.ts";
import { type H2Request, type Probe, type ProbeAddress, Requirement, TOKEN_FIELD, type Vector } from "./vector.ts";

type Field = readonly [string, string];

const REFUSED = "400 or stream reset";

/** VECTOR-01, 02, 03, 07, 08. */
export const H2_VECTORS: readonly Vector[] = [
  {
    id: "VECTOR-01",
    name: "Transfer-Encoding: chunked over HTTP/2",
    protocol: "HTTP/2",
    requirement: Requirement.Refused,
    expected: REFUSED,
    probes: [
      probe("a second request after the last chunk", (at) =>
        post(at, [["transfer-encoding", "chunked"]], `0\r\n\r\n${smuggled(at)}`),
      ),
      probe("with a correct Content-Length", (at) => {
        const body = `0\r\n\r\n${smuggled(at)}`;
        return post(
          at,
          [
            ["content-length", `${body.length}`],
            ["transfer-encoding", "chunked"],
          ],
          body,
        );
      }),
    ],
  },
  {
    id: "VECTOR-02",
    name: "two conflicting Content-Length values over HTTP/2",
    protocol: "HTTP/2",
    requirement: Requirement.Refused,
    expected: "400 (protocol error)",
    probes: [
      probe("the first is correct", (at) => {
        const body = `ab${smuggled(at)}`;
        return post(
          at,
          [
            ["content-length", `${body.length}`],
            ["content-length", "2"],
          ],
          body,
        );
      }),
      probe("the second is correct", (at) => {
        const body = `ab${smuggled(at)}`;
        return post(
          at,
          [
            ["content-length", "2"],
            ["content-length", `${body.length}`],
          ],
          body,
        );
      }),
    ],
  },
  {
    id: "VECTOR-03",
    name: "Content-Length larger than the body before the end of stream",
    protocol: "HTTP/2",
    requirement: Requirement.Refused,
    expected: "400",
    probes: [
      probe("some of the body", (at) => post(at, [["content-length", "90"]], "hello")),
      probe("no body at all", (at) => ({ ...post(at, [["content-length", "90"]], ""), body: null })),
    ],
  },
  {
    id: "VECTOR-07",
    name: "header value with embedded CR and LF over HTTP/2",
    protocol: "HTTP/2",
    requirement: Requirement.Refused,
    expected: REFUSED,
    probes: [
      probe("a header of its own", (at) =>
        post(at, [["x-probe", "a\r\ntransfer-encoding: chunked"]], `0\r\n\r\n${smuggled(at)}`),
      ),
      probe("a request of its own", (at) => get(at, [["x-probe", `a\r\n\r\n${smuggled(at).slice(0, -4)}`]])),
      probe("in the path", (at) => {
        const path = `${at.prefix}/health HTTP/1.1\r\nhost: ${at.authority}\r\n\r\n${smuggled(at).split(" HTTP/1.1")[0]}`;
        const fields = get(at, []).fields.map(([name, value]): Field => [name, name === ":path" ? path : value]);
        return { fields, body: null };
      }),
    ],
  },
  {
    id: "VECTOR-08",
    name: "valid HTTP/2 request with :protocol and an unknown pseudo-header",
    protocol: "HTTP/2",
    requirement: Requirement.Forwarded,
    expected: "forwarded upstream as clean HTTP/1.1 with no header whose name begins with ':'",
    probes: [
      probe("POST /echo", (at) => {
        const json = bodyOf(at.token);
        const about: Field[] = [
          ["content-type", "application/json"],
          ["content-length", `${json.length}`],
        ];
        const { fields, body } = post(at, about, json.toString("latin1"));
        const pseudo: Field[] = [
          [":protocol", "websocket"],
          [":multihop", "unknown"],
        ];
        return { fields: [...fields.slice(0, PSEUDO_FIELDS), ...pseudo, ...fields.slice(PSEUDO_FIELDS)], body };
      }),
    ],
    forwards: { method: "POST", path: "/echo", body: bodyOf, isEcho: true },
  },
];

/** The request that shows, before each attack, that this client's frames are understood. */
export function controlRequest(at: ProbeAddress): H2Request {
  return get(at, []);
}

const PSEUDO_FIELDS = 4;

function probe(name: string, request: (at: ProbeAddress) => H2Request): Probe {
  return { protocol: "HTTP/2", name, request };
}

function get(at: ProbeAddress, fields: readonly Field[]): H2Request {
  return { fields: [...pseudoFields(at, "GET", "/health"), ...ownFields(at), ...fields], body: null };
}

function post(at: ProbeAddress, fields: readonly Field[], body: string): H2Request {
  return {
    fields: [...pseudoFields(at, "POST", "/echo"), ...ownFields(at), ...fields],
    body: Buffer.from(body, "latin1"),
  };
}

function pseudoFields(at: ProbeAddress, method: string, path: string): Field[] {
  return [
    [":method", method],
    [":scheme", "http"],
    [":authority", at.authority],
    [":path", at.prefix + path],
  ];
}

function ownFields(at: ProbeAddress): Field[] {
  return [[TOKEN_FIELD.toLowerCase(), at.token]];
}

function bodyOf(token: string): Buffer {
  return Buffer.from(JSON.stringify({ multihop: token, over: "h2" }));
}
