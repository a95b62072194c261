import { describe, expect, test } from "bun:test";
import { LINGER_MS } from "../../../src/edge/client-socket.ts";
import { EARLY_PIPELINED_MS, EARLY_REPLY_MS } from "../../../src/edge/h1-connection.ts";
import { DRAIN_BYTES, DRAIN_MS } from "../../../src/edge/limits.ts";
import type { Exchange } from "../../../src/message/exchange.ts";
import { ClientSession } from "./client-session.ts";
import { repliesIn, statusesIn } from "./reply-text.ts";
import { BodyRecorder, beginReply, ECHO_TARGET, LateAnswers, textReply, writeReply } from "./scripts.ts";

function post(target: string, length: number, ...lines: readonly string[]): string {
  const extra = lines.map((line) => `${line}\r\n`).join("");
  return `POST ${target} HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n${extra}\r\n`;
}

const CHUNKED = "POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
const NEXT = "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n";

/** Answers with head, body and end, as a file or an upstream does, without a look at the request's body. */
function streamed(ex: Exchange): void {
  beginReply(ex, 2);
  writeReply(ex, "ok");
  ex.sink.end(ex);
}

/** One chunk with this data. */
function chunk(data: string): string {
  return `${data.length.toString(16)}\r\n${data}\r\n`;
}

describe("an answer that needs no body", () => {
  test("waits for a short body, and the connection is kept", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(post("/a", 5), "hel");
    expect(session.got).toBe("");
    session.send(`lo${NEXT}`);
    expect(repliesIn(session.got).map((reply) => reply.body)).toEqual(["/a", "/next"]);
    expect(session.endings).toEqual([]);
  });

  test("waits for a chunked body to its end", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(CHUNKED, chunk("hello"), "0\r\n");
    expect(session.got).toBe("");
    session.send(`X-A: b\r\n\r\n${NEXT}`);
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });

  test("does not wait for long", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(post("/a", 5), "hel");
    session.wait(EARLY_REPLY_MS - 60);
    expect(session.got).toBe("");
    session.wait(120);
    expect(statusesIn(session.got)).toEqual([200]);
    session.wait(EARLY_REPLY_MS + 100);
    expect(session.endings).toEqual(["shutdown"]);
    session.wait(LINGER_MS + 100);
    expect(session.endings).toEqual(["shutdown", "terminate"]);
  });

  test("does not wait longer on a kept connection", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(NEXT);
    session.send(post("/a", 5), "hel");
    session.wait(EARLY_REPLY_MS - 60);
    expect(statusesIn(session.got)).toEqual([200]);
    session.wait(120);
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });

  test("waits longer where its request came behind another, whose answer may not have been read", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`${NEXT}${post("/a", 5)}hel`);
    session.wait(EARLY_PIPELINED_MS - 60);
    expect(statusesIn(session.got)).toEqual([200]);
    session.wait(120);
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });

  test("comes at once where the body is too long to be read, and says close", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(post("/a", DRAIN_BYTES + 1));
    expect(repliesIn(session.got)[0]!.fields.get("connection")).toBe("close");
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("is kept for a body that can just be drained", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(post("/a", DRAIN_BYTES), "x".repeat(DRAIN_BYTES), NEXT);
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });

  test("gives way to the refusal of a malformed body", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(CHUNKED, "zz\r\n");
    expect(statusesIn(session.got)).toEqual([400]);
    expect(session.endings).toEqual(["shutdown"]);
  });
});

describe("a streamed answer to a request whose body is still coming", () => {
  test("lets the rest be drained, and the connection is kept", () => {
    const session = new ClientSession((ex) => (ex.request.target() === "/next" ? ECHO_TARGET(ex) : streamed(ex)));
    session.send(post("/a", 5), "he");
    expect(statusesIn(session.got)).toEqual([200]);
    session.send(`llo${NEXT}`);
    expect(statusesIn(session.got)).toEqual([200, 200]);
    expect(session.endings).toEqual([]);
  });

  test("closes when the rest does not come in time", () => {
    const session = new ClientSession(streamed);
    session.send(post("/a", 5), "he");
    session.wait(DRAIN_MS + 100);
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.endings).toEqual(["shutdown"]);
    session.send(`llo${NEXT}`);
    expect(session.handled).toEqual(["/a"]);
  });

  test("drains 64 KiB, framing included, and no more", () => {
    const session = new ClientSession(streamed);
    session.send(CHUNKED);
    const piece = chunk("x".repeat(1017));
    expect(piece.length).toBe(1024);
    for (let sent = 0; sent < DRAIN_BYTES; sent += piece.length) session.send(piece);
    expect(session.endings).toEqual([]);
    session.send(piece);
    expect(session.endings).toEqual(["shutdown"]);
    expect(statusesIn(session.got)).toEqual([200]);
  });

  test("closes without a second answer when the rest is malformed", () => {
    const session = new ClientSession(streamed);
    session.send(CHUNKED, chunk("hello"), "zz\r\n");
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("closes without a second answer when the client ends within the rest", () => {
    const session = new ClientSession(streamed);
    session.send(post("/a", 5), "he");
    session.end();
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.endings).toEqual(["end"]);
  });

  test("is drained no longer for a client that reads slowly", () => {
    const session = new ClientSession((ex) => (ex.request.target() === "/next" ? ECHO_TARGET(ex) : streamed(ex)));
    session.socket.room = 10;
    session.send(post("/a", 5), "he");
    session.wait(DRAIN_MS * 10);
    session.send(`llo${NEXT}`);
    session.drain();
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.handled).toEqual(["/a"]);
  });

  test("goes out whole to a client that reads slowly", () => {
    const length = 200_000;
    const session = new ClientSession((ex) => {
      beginReply(ex, length);
      writeReply(ex, "x".repeat(length));
      ex.sink.end(ex);
    });
    session.socket.room = 1000;
    session.send(post("/a", 5), "he");
    session.wait(DRAIN_MS + 200);
    session.drain();
    expect(session.endings).not.toContain("terminate");
    expect(session.got.length).toBeGreaterThan(length);
  });
});

describe("Expect: 100-continue", () => {
  const expecting = post("/a", 5, "Expect: 100-continue");

  test("is answered when somebody wants the body", () => {
    const body = new BodyRecorder();
    body.whenDone = (ex) => ex.sink.fixed(ex, textReply(body.text));
    const session = new ClientSession(body.script);
    session.send(expecting);
    expect(session.got).toBe("HTTP/1.1 100 Continue\r\n\r\n");
    session.send("hello");
    expect(statusesIn(session.got)).toEqual([100, 200]);
    expect(session.endings).toEqual([]);
  });

  test("is answered once, however often the body is wanted", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(expecting);
    const ex = late.take();
    for (let i = 0; i < 3; i++) session.inTurn(() => ex.sink.wantBody(ex));
    expect(statusesIn(session.got)).toEqual([100]);
  });

  test("is not answered where the body has come already", () => {
    const body = new BodyRecorder();
    body.whenDone = (ex) => ex.sink.fixed(ex, textReply(body.text));
    const session = new ClientSession(body.script);
    session.send(`${expecting}hello`);
    expect(statusesIn(session.got)).toEqual([200]);
  });

  test("is not answered in HTTP/1.0", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script);
    session.send("POST /a HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect(session.got).toBe("");
  });

  test("is not answered before a refusal: the client keeps its body, and the connection closes", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(expecting);
    const [reply, ...others] = repliesIn(session.got);
    expect([reply!.status, reply!.fields.get("connection"), others.length]).toEqual([200, "close", 0]);
  });

  test("does not keep the connection from being kept where the body comes all the same", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`${expecting}hello${NEXT}`);
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });

  test("is not answered twice beside 100 by the origin's own interim answers", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(expecting);
    const ex = late.take();
    session.inTurn(() => {
      ex.response.headers.resetOwn();
      ex.response.headers.add("Link", "</a>");
      ex.sink.interim(ex, 103, ex.response.headers);
    });
    expect(session.got).toBe("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  });
});
