import { afterAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

/** Where scripts/install-peers puts aioquic. */
const PYTHON = join(import.meta.dir, "..", "..", ".bun", "aioquic", "bin", "python");
const CLIENT = join(import.meta.dir, "http3-client.py");
const hasClient = existsSync(PYTHON);
if (!hasClient) console.log("skipped: an independent HTTP/3 client needs aioquic (scripts/install-peers, from PyPI)");

interface Sent {
  readonly fields?: readonly (readonly [string, string])[];
  /** Bytes of the stream, in place of all else. */
  readonly raw?: readonly number[];
  readonly body?: number;
  readonly pieces?: number;
  readonly trailers?: readonly (readonly [string, string])[];
  readonly abandon?: boolean;
  /** The stream in place of all else, which is then ended: type, payload and how many bytes are cut off; or bytes as they are. */
  readonly frames?: readonly (readonly [number, string | Sent["fields"], number] | readonly number[])[];
}

interface Got {
  readonly status: number;
  readonly fields: readonly [string, string][];
  readonly interim: readonly number[];
  readonly length: number;
  readonly text: string;
  readonly reset: number | null;
  /** The error code that ended the connection, if one did. */
  readonly closed: number | null;
  readonly timed_out: boolean;
}

describe.skipIf(!hasClient)("an independent client (aioquic)", async () => {
  const port = freePort();
  const certificate = await makeCertificate();
  const origin = EchoOrigin.start();
  const gateway = await startGateway({
    config: {
      server: {
        max_body_bytes: "32MiB",
        header_timeout: "2s",
        tls: { port, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
      },
    },
    routes: [upstream("/node", origin), upstream("/stream", origin, { inbound_chunked_mode: "passthrough" })],
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
  afterAll(() => stopAll(gateway, origin));

  const ask = async (...requests: readonly Sent[]): Promise<readonly Got[]> => {
    const child = Bun.spawn([PYTHON, CLIENT, String(port)], {
      stdin: Buffer.from(JSON.stringify(requests)),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [text, errors] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    if ((await child.exited) !== 0) throw new Error(errors);
    return JSON.parse(text);
  };
  const head = (
    method: string,
    path: string,
    ...fields: readonly (readonly [string, string])[]
  ): readonly (readonly [string, string])[] => [
    [":method", method],
    [":scheme", "https"],
    [":authority", "localhost"],
    [":path", path],
    ...fields,
  ];

  test("loads, and uploads 24 MB", async () => {
    const [page, upload, expecting] = await ask(
      { fields: head("GET", "/node/page?q=1") },
      { fields: head("POST", "/node/upload"), body: 24_000_000, pieces: 400 },
      { fields: head("POST", "/stream/x", ["expect", "100-continue"]), body: 5 },
    );
    expect([page!.status, (JSON.parse(page!.text) as Echo).target]).toEqual([200, "/page?q=1"]);
    expect([upload!.status, upload!.length > 0]).toEqual([200, true]);
    expect(origin.requestsFor("/upload").length).toBe(1);
    // RFC 9110 §10.1.1: a body that is there already needs no 100, and this client does not wait for one.
    expect(expecting!.status).toBe(200);
    expect(["", "100"]).toContain(expecting!.interim.join());
  }, 60_000);

  const BIG = "b".repeat(8000);
  const REFUSED: readonly (readonly [string, Sent, number])[] = [
    [
      "Transfer-Encoding (VECTOR-01)",
      { fields: head("POST", "/node/v", ["transfer-encoding", "chunked"]), body: 5 },
      400,
    ],
    [
      "two lengths",
      { fields: head("POST", "/node/v", ["content-length", "5"], ["content-length", "5"]), body: 5 },
      400,
    ],
    ["CR in a value", { fields: head("GET", "/node/v", ["x-a", "a\rb"]) }, 400],
    ["CR LF in a value", { fields: head("GET", "/node/v", ["x-a", "a\r\nx-b: c"]) }, 400],
    ["CR LF in the path", { fields: head("GET", "/node/v HTTP/1.1\r\nx-b: c") }, 400],
    ["CR LF in a name", { fields: head("GET", "/node/v", ["x-a\r\nx-b", "c"]) }, 400],
    ["an upper-case name", { fields: head("GET", "/node/v", ["X-A", "b"]) }, 400],
    ["Connection", { fields: head("GET", "/node/v", ["connection", "x-a"]) }, 400],
    ["a second path", { fields: [...head("GET", "/node/v"), [":path", "/node/w"]] }, 400],
    ["a pseudo-header behind a field", { fields: head("GET", "/node/v", ["x-a", "b"], [":foo", "bar"]) }, 400],
    ["80 KB of fields, all below the limit of a line", { fields: manyFields(10, BIG) }, 431],
    ["130 fields", { fields: manyFields(130, "b") }, 431],
  ];

  function manyFields(count: number, value: string): Sent["fields"] {
    return head("GET", "/node/v", ...Array.from({ length: count }, (_, i) => [`x-${i}`, value] as const));
  }

  test("what is malformed is refused and reaches no origin", async () => {
    const answers = await ask(...REFUSED.map(([, sent]) => sent));
    const found = answers.map(({ status }, i) => [REFUSED[i]![0], status]);
    expect(found).toEqual(REFUSED.map(([name, , status]) => [name, status]));
    expect(origin.requestsFor("/v")).toEqual([]);
  }, 60_000);

  test("what the runtime refuses by itself ends the connection", async () => {
    const answers = await ask(
      { fields: head("GET", "/node/r", ["x-a", "a\0b"]) },
      { fields: head("POST", "/node/r", ["content-length", "9"]), body: 5 },
      { fields: head("POST", "/node/r", ["content-length", "3"]), body: 5 },
    );
    expect(answers.map(({ status, closed, reset }) => [status, closed ?? reset])).toEqual(
      answers.map(() => [0, 0x10e]),
    );
  }, 60_000);

  test("an unknown pseudo-header in its place is dropped (VECTOR-08), and the origin sees nothing of it", async () => {
    const [answer] = await ask({ fields: [[":foo", "bar"], ...head("GET", "/node/p")] });
    expect(answer!.status).toBe(200);
    expect(Object.keys((JSON.parse(answer!.text) as Echo).headers)).not.toContain("foo");
  }, 60_000);

  // RFC 9114 §7.1: a frame that the end of its stream cuts short is H3_FRAME_ERROR (0x106); RFC 9114 §4.1: one that has no place there is
  // H3_FRAME_UNEXPECTED (0x105); RFC 9114 §4.1.2: a declared length that is not that of the DATA frames is H3_MESSAGE_ERROR (0x10e).
  const body = [0, "0123456789", 0] as const;
  const cutBody = [0, "0123456789", 4] as const;
  const headOf = (...fields: readonly (readonly [string, string])[]) =>
    [1, head("POST", "/node/cut", ...fields), 0] as const;
  const cutFrames: readonly (readonly [string, NonNullable<Sent["frames"]>, number])[] = [
    ["a frame's type alone", [[1]], 0x106],
    ["a head that is cut", [[1, head("POST", "/node/cut"), 3]], 0x106],
    ["half of a frame's head behind the body", [headOf(), body, [0x40]], 0x106],
    ["an unknown frame that is cut behind the body", [headOf(), body, [0x21, "abcdef", 3]], 0x106],
    ["trailers that are cut", [headOf(), body, [1, [["x-sum", "42"]], 2]], 0x106],
    ["a body before the head", [body, headOf()], 0x105],
    ["a body behind the trailers", [headOf(), body, [1, [["x-sum", "42"]], 0], body], 0x105],
    ["SETTINGS in a request", [headOf(), [4, "", 0]], 0x105],
    ["a frame of HTTP/2", [headOf(), [6, "", 0]], 0x105],
    [
      "a frame that is longer than the declared length, and cut to it",
      [headOf(["content-length", "6"]), cutBody],
      0x10e,
    ],
  ];
  test("what ends in the middle of a frame, or has no place in a request, ends the connection", async () => {
    const answers = await ask(...cutFrames.map(([, frames]) => ({ frames })));
    expect(answers.map(({ status, closed }, i) => [cutFrames[i]![0], status, closed])).toEqual(
      cutFrames.map(([name, , code]) => [name, 0, code]),
    );
  }, 60_000);

  test("a body that is cut is refused where its length was declared; where not, the runtime does not tell", async () => {
    const [declared, not] = await ask(
      { frames: [headOf(["content-length", "10"]), cutBody] },
      { frames: [headOf(), cutBody] },
    );
    expect([declared!.status, declared!.text]).toEqual([400, expect.stringContaining("not as long as")]);
    // docs/wire.md#http3: an answer of another kind is welcome as soon as the runtime gives a sign.
    expect(not!.status).toBe(200);
  }, 60_000);

  test("a stream that ends without a request is rejected after the header timeout: the runtime does not tell of its end", async () => {
    const answers = await ask({ frames: [] }, { frames: [[0x21, "abc", 0]] });
    expect(answers.map(({ status, reset }) => [status, reset])).toEqual([
      [0, 0x10b],
      [0, 0x10b],
    ]);
  }, 60_000);

  test("a head that never comes whole is rejected after the header timeout", async () => {
    // The beginning of a HEADERS frame of 32 bytes.
    const [got] = await ask({ fields: [], raw: [1, 32, 0, 0] });
    expect([got!.status, got!.reset, got!.timed_out]).toEqual([0, 0x10b, false]);
  }, 60_000);

  test("an answer that is cut ends in a reset, whose code is an error", async () => {
    origin.on("/cut", async (call) => {
      call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
      await call.connection.flushed();
      call.connection.reset();
    });
    origin.on("/short", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
    const answers = await ask({ fields: head("GET", "/node/cut") }, { fields: head("GET", "/node/short") });
    const H3_INTERNAL_ERROR = 0x102;
    expect(answers.map(({ reset, closed }) => [reset, closed])).toEqual(answers.map(() => [H3_INTERNAL_ERROR, null]));
  }, 60_000);

  test("trailers, and a request that is given up", async () => {
    const [streamed, gathered, abandoned] = await ask(
      { fields: head("POST", "/stream/t"), body: 5, trailers: [["x-sum", "42"]] },
      { fields: head("POST", "/node/t"), body: 5, trailers: [["x-sum", "42"]] },
      { fields: head("POST", "/node/half"), body: 5, abandon: true },
    );
    const [stream, whole] = origin.requestsFor("/t");
    expect([streamed!.status, gathered!.status, abandoned!.status]).toEqual([200, 200, 0]);
    expect([stream!.fields.get("x-sum") ?? null, whole!.fields.get("x-sum")]).toEqual([null, "42"]);
    expect(origin.requestsFor("/half")).toEqual([]);
  }, 60_000);
});
