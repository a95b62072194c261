import { describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { ClientSession, SETTINGS } from "./client-session.ts";
import { statusesIn } from "./reply-text.ts";
import { BodyRecorder, ECHO_TARGET, LateAnswers, textReply } from "./scripts.ts";

const COUNTED = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";
const CHUNKED = "POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
const NEXT = "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n";

function answering(): BodyRecorder {
  const body = new BodyRecorder();
  body.whenDone = (ex) => ex.sink.fixed(ex, textReply(body.text));
  return body;
}

describe("a request body", () => {
  test.each([
    ["counted", `${COUNTED}helloworld`],
    ["chunked", `${CHUNKED}5;x\r\nhello\r\n5\r\nworld\r\n0\r\nX-T: y\r\n\r\n`],
  ])("%s comes whole and once, in every split", (_name, request) => {
    for (let cut = 1; cut <= request.length; cut++) {
      const body = answering();
      const session = new ClientSession((ex) => (ex.request.target() === "/a" ? body.script(ex) : ECHO_TARGET(ex)));
      session.send(request.slice(0, cut), request.slice(cut) + NEXT);
      expect([body.text, ...body.events]).toEqual(["helloworld", "end"]);
      expect(statusesIn(session.got)).toEqual([200, 200]);
    }
  });

  test("is counted, decoded", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(`${CHUNKED}5;x\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n`);
    const ex = late.take();
    expect([ex.bodyBytes, ex.bodyDone]).toEqual([10, true]);
  });

  test("shows its trailers as fields of the request", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(`${CHUNKED}0\r\nX-T: y\r\nX-U: z\r\n\r\n`);
    const { headers } = late.take().request;
    const names = Array.from({ length: headers.count }, (_, i) => `${headers.nameText(i)}: ${headers.valueText(i)}`);
    expect(names).toEqual(["Host: a.test", "Transfer-Encoding: chunked", "X-T: y", "X-U: z"]);
  });

  test("shows every trailer that was accepted, or refuses them", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    const fields = "X-A: b\r\n".repeat(98);
    const trailers = "X-T: y\r\n".repeat(100);
    session.send(CHUNKED.replace("Host: a.test\r\n", `Host: a.test\r\n${fields}`), `0\r\n${trailers}\r\n`);
    if (statusesIn(session.got).length > 0) expect(statusesIn(session.got)).toEqual([431]);
    else expect(late.take().request.headers.count).toBe(200);
  });

  test("of length 0 is none", () => {
    const body = answering();
    const late = new LateAnswers();
    const session = new ClientSession((ex) => {
      body.script(ex);
      late.script(ex);
    });
    session.send("POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n");
    expect(late.take().bodyDone).toBe(true);
    expect(body.events).toEqual([]);
  });
});

describe("a body that is stopped", () => {
  test("does not flow until it may, and the kernel holds it meanwhile", () => {
    const body = answering();
    const late = new LateAnswers();
    const session = new ClientSession((ex) => {
      body.script(ex);
      late.script(ex);
      ex.flow.pauseBody(ex);
    });
    session.send(`${COUNTED}hel`, "lo");
    expect(body.text).toBe("");
    expect(session.socket.isPaused).toBe(true);
    const ex = late.take();
    session.inTurn(() => ex.flow.resumeBody(ex));
    expect(body.text).toBe("hello");
    expect(session.socket.isPaused).toBe(false);
    session.send("world");
    expect([body.text, ...body.events]).toEqual(["helloworld", "end"]);
  });

  test("may be stopped by each of its pieces", () => {
    const body = answering();
    const late = new LateAnswers();
    body.afterPiece = (ex) => ex.flow.pauseBody(ex);
    const session = new ClientSession((ex) => {
      body.script(ex);
      late.script(ex);
    });
    // Smaller chunks that come together are one piece.
    const [a, b, c] = ["a", "b", "c"].map((char) => char.repeat(0x401));
    session.send(`${CHUNKED}401\r\n${a}\r\n401\r\n${b}\r\n401\r\n${c}\r\n0\r\n\r\n`);
    const ex = late.take();
    expect(body.text).toBe(`${a}`);
    for (const text of [`${a}${b}`, `${a}${b}${c}`]) {
      session.inTurn(() => ex.flow.resumeBody(ex));
      expect(body.text).toBe(text);
    }
    expect(body.events).toEqual([]);
    session.inTurn(() => ex.flow.resumeBody(ex));
    expect(body.events).toEqual(["end"]);
  });

  test("is not late as long as it is stopped", () => {
    const late = new LateAnswers();
    const session = new ClientSession((ex) => {
      late.script(ex);
      ex.flow.pauseBody(ex);
    });
    session.send(`${COUNTED}hel`);
    session.wait(SETTINGS.readTimeoutMs * 2);
    expect(session.got).toBe("");
    const ex = late.take();
    session.inTurn(() => ex.flow.resumeBody(ex));
    session.wait(SETTINGS.readTimeoutMs + 100);
    expect(statusesIn(session.got)).toEqual([408]);
  });

  test("flows again when the exchange is answered without it", () => {
    const late = new LateAnswers();
    const session = new ClientSession((ex) => {
      if (ex.request.target() === "/next") return ECHO_TARGET(ex);
      late.script(ex);
      ex.flow.pauseBody(ex);
    });
    session.send(`${COUNTED}hel`);
    session.inTurn(() => late.answer());
    session.send(`loworld${NEXT}`);
    expect(statusesIn(session.got)).toEqual([200, 200]);
    expect(session.socket.isPaused).toBe(false);
  });
});

describe("a client that goes away", () => {
  test("within a body: its taker and its source hear of it once", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script);
    session.send(`${COUNTED}hel`);
    session.lose();
    session.lose();
    expect(body.events).toEqual([`fault ${Fault.Cancelled}`, "cancelled"]);
    expect([session.ended, session.closes]).toEqual([["/a cut"], 1]);
  });

  test("while it waits for an answer: the source hears of it once", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script);
    session.send(NEXT);
    session.lose();
    expect(body.events.filter((event) => event === "cancelled")).toEqual(["cancelled"]);
    expect(session.ended).toEqual(["/next cut"]);
  });

  test("with half a head, or with nothing: nobody hears of it", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send("GET / HT");
    session.lose();
    const idle = new ClientSession(ECHO_TARGET);
    idle.lose();
    expect([session.ended, idle.ended, session.closes, idle.closes]).toEqual([[], [], 1, 1]);
  });

  test("while its answer waits for the kernel: every slab comes back", () => {
    const session = new ClientSession((ex) => ex.sink.fixed(ex, textReply("x".repeat(40_000))));
    session.socket.room = 100;
    session.send(NEXT);
    session.lose();
    expect(session.slabs.out.size).toBe(0);
  });

  test("by ending its direction within a body: 400", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script);
    session.send(`${COUNTED}hel`);
    session.end();
    expect(statusesIn(session.got)).toEqual([400]);
    expect(body.events).toEqual([`fault ${Fault.BodyTruncated}`, "cancelled"]);
    expect(session.endings).toEqual(["end"]);
  });
});
