import { describe, expect, test } from "bun:test";
import { Flag, FrameType } from "../../../../src/proto/h2/frame.ts";
import { readResponses } from "../../../../src/tools/multihop/h1-answers.ts";
import { encodeHopFrame, readFrames } from "../../../../src/tools/multihop/h2-frames.ts";
import { readStream } from "../../../../src/tools/multihop/h2-stream.ts";
import { encodeLiterals, statusOf } from "../../../../src/tools/multihop/hpack-literals.ts";
import { type LenientRequest, readRequest } from "../../../../src/tools/multihop/lenient-parser.ts";
import { PARSER_HABITS } from "../../../../src/tools/multihop/parser-habits.ts";

const answers = (text: string, hasEnded = false) => readResponses(Buffer.from(text, "latin1"), hasEnded);

describe("answers over HTTP/1.1", () => {
  test("are told apart by length, chunks and the end", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const found = answers(`${text}3;x=1\r\nabc\r\n0\r\nT: 1\r\n\r\nHTTP/1.0 400 Bad\r\n\r\nwhy`, true);
    expect(found.answers.map(({ status, body }) => [status, body.toString()])).toEqual([
      [200, "ab"],
      [200, "abc"],
      [400, "why"],
    ]);
    expect(found.isWhole).toBe(true);
  });

  test("are waited for while they may still come, and 1xx is none", () => {
    const whole = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    for (let end = 1; end < whole.length; end++)
      expect(answers(whole.slice(0, end))).toMatchObject({ answers: [], fault: "" });
    expect(answers(whole).answers).toHaveLength(1);
  });

  test("are not seen in anything else", () => {
    expect(answers("SSH-2.0").fault).toContain("no response");
    expect(answers("HTTP/1.1 2x0 OK\r\n\r\n").fault).toContain("status line");
    expect(answers("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").fault).toContain("Content-Length");
    expect(answers("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").fault).toContain("chunk size");
  });
});

describe("the status of an HTTP/2 answer", () => {
  test.each([
    ["indexed 200", [0x88], 200],
    ["indexed 400", [0x8c], 400],
    ["a literal with an indexed name", [0x48, 0x03, 0x34, 0x30, 0x33], 403],
    // RFC 7541 Appendix C.6.1: 302 with Huffman coding.
    ["Huffman digits", [0x48, 0x82, 0x64, 0x02], 302],
    ["behind a table size update", [0x20, 0x08, 0x03, 0x35, 0x30, 0x32], 502],
    ["behind a long table size update", [0x3f, 0xe1, 0x1f, 0x88], 200],
    ["not there", [0x40, 0x01, 0x61, 0x01, 0x62], 0],
    ["cut off", [0x48], 0],
  ])("%s", (_, block, status) => {
    expect(statusOf(Buffer.from(block))).toBe(status);
  });

  test("comes with body and end, over padding, CONTINUATION and interim answers", () => {
    const block = encodeLiterals([
      [":status", "200"],
      ["x-long", "v".repeat(300)],
    ]);
    const bytes = Buffer.concat([
      encodeHopFrame(FrameType.Headers, Flag.EndHeaders, 1, encodeLiterals([[":status", "103"]])),
      encodeHopFrame(FrameType.Headers, 0, 1, block.subarray(0, 20)),
      encodeHopFrame(FrameType.Continuation, Flag.EndHeaders, 1, block.subarray(20)),
      encodeHopFrame(FrameType.Data, Flag.Padded, 1, Buffer.from([2, 0x61, 0, 0])),
      encodeHopFrame(FrameType.Data, Flag.EndStream, 1, Buffer.from("b")),
      encodeHopFrame(FrameType.RstStream, 0, 1, Buffer.alloc(4)),
      encodeHopFrame(FrameType.RstStream, 0, 3, Buffer.from([0, 0, 0, 1])),
    ]);
    const frames = readFrames(bytes);
    expect(readStream(frames, 1)).toEqual({ status: 200, body: Buffer.from("ab"), reset: "", isOver: true });
    expect(readStream(frames, 3).reset).toBe("RST_STREAM PROTOCOL_ERROR");
    expect(readFrames(bytes.subarray(0, bytes.length - 1))).toHaveLength(frames.length - 1);
  });

  test("GOAWAY is an end where it is an error, or leaves the stream out", () => {
    const goAway = (last: number, code: number) =>
      readStream(readFrames(encodeHopFrame(FrameType.GoAway, 0, 0, Buffer.from([0, 0, 0, last, 0, 0, 0, code]))), 3)
        .reset;
    expect([goAway(3, 0), goAway(1, 0), goAway(3, 1)]).toEqual(["", "GOAWAY NO_ERROR", "GOAWAY PROTOCOL_ERROR"]);
  });
});

describe("simulated parsers", () => {
  const read = (name: keyof typeof PARSER_HABITS, text: string) =>
    readRequest(Buffer.from(text, "latin1"), PARSER_HABITS[name]);
  const bodyOf = (name: keyof typeof PARSER_HABITS, text: string) => {
    const reading = read(name, text);
    return typeof reading === "string" ? reading : reading.body.toString("latin1");
  };

  test("disagree about what should be refused", () => {
    const both = "POST / HTTP/1.1\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    expect([bodyOf("node", both), bodyOf("python", both), bodyOf("go", both)]).toEqual(["a", "1\r\na\r\n0", "a"]);
    const two = "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab";
    expect([bodyOf("node", two), bodyOf("python", two), bodyOf("go", two)]).toEqual(["ab", "a", "refused"]);
    const space = "POST / HTTP/1.1\r\nContent-Length : 2\r\n\r\nab";
    expect([bodyOf("node", space), bodyOf("python", space), bodyOf("go", space)]).toEqual(["ab", "", "ab"]);
    const folded = "POST / HTTP/1.1\r\nX: a\r\n Content-Length: 2\r\n\r\nab";
    expect([bodyOf("node", folded), bodyOf("python", folded), bodyOf("go", folded)]).toEqual(["ab", "", "ab"]);
  });

  test.each(["node", "python", "go"] as const)("%s agrees about what is in order, byte by byte", (name) => {
    const text =
      "\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;e\r\nab\r\n0\r\nT: 1\r\n\r\n";
    for (let end = 0; end < text.length; end++) expect(read(name, text.slice(0, end))).toBe("more");
    const request = read(name, `${text}GET`) as LenientRequest;
    expect([request.method, request.target, request.body.toString(), request.end]).toEqual([
      "POST",
      "/echo",
      "ab",
      text.length,
    ]);
  });

  test.each(["nonsense\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n"])(
    "refuse %j",
    (text) => {
      expect(read("node", text)).toBe("refused");
    },
  );
});
