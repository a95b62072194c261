import { describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { TICK_MS } from "../../../src/core/timer-wheel.ts";
import { ClientSession, SETTINGS } from "./client-session.ts";
import { repliesIn, statusesIn } from "./reply-text.ts";
import { BodyRecorder, beginReply, ECHO_TARGET, LateAnswers, textReply, writeReply } from "./scripts.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";
const LATE_MS = 2 * TICK_MS;

describe("a head", () => {
  test("that takes too long is refused", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send("GET /a HTTP/1.1\r\n");
    session.wait(SETTINGS.headerTimeoutMs - 1);
    expect(session.got).toBe("");
    session.wait(1 + LATE_MS);
    expect(statusesIn(session.got)).toEqual([408]);
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("that comes drop by drop has the same time", () => {
    const session = new ClientSession(ECHO_TARGET);
    for (const byte of GET.slice(0, 20)) {
      session.send(byte);
      session.wait(600);
    }
    expect(statusesIn(session.got)).toEqual([408]);
  });

  test("that never begins: the new connection closes without a word", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.wait(SETTINGS.headerTimeoutMs + LATE_MS);
    expect([session.got, session.endings]).toEqual(["", ["end"]]);
  });

  test("behind a late answer has its time from its first byte, and is not late while it waits", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(GET + GET.slice(0, 5));
    session.wait(SETTINGS.headerTimeoutMs * 3);
    session.inTurn(() => late.answer());
    session.wait(SETTINGS.headerTimeoutMs - 100);
    session.send(GET.slice(5));
    session.inTurn(() => late.answer());
    expect(statusesIn(session.got)).toEqual([200, 200]);
  });
});

describe("an idle connection", () => {
  test("closes after a while, without a word", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(GET);
    session.wait(SETTINGS.idleTimeoutMs - 1);
    expect(session.endings).toEqual([]);
    session.wait(1 + LATE_MS);
    expect(statusesIn(session.got)).toEqual([200]);
    expect([session.endings, session.closes]).toEqual([["end"], 1]);
  });

  test("has its time anew with every request", () => {
    const session = new ClientSession(ECHO_TARGET);
    for (let i = 0; i < 4; i++) {
      session.send(GET);
      session.wait(SETTINGS.idleTimeoutMs - 100);
    }
    expect(session.endings).toEqual([]);
  });

  test("is not one that waits for its answer", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(GET);
    session.wait(SETTINGS.idleTimeoutMs * 2);
    expect(session.endings).toEqual([]);
    session.inTurn(() => late.answer());
    expect(statusesIn(session.got)).toEqual([200]);
  });
});

describe("a body", () => {
  test("that stops coming is refused", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script);
    session.send(`${POST}hel`);
    session.wait(SETTINGS.readTimeoutMs - 1);
    expect(session.got).toBe("");
    session.wait(1 + LATE_MS);
    expect(statusesIn(session.got)).toEqual([408]);
    expect(body.events).toEqual([`fault ${Fault.BodyTimeout}`, "cancelled"]);
  });

  test("has its time anew with every piece", () => {
    const body = new BodyRecorder();
    body.whenDone = (ex) => ex.sink.fixed(ex, textReply(body.text));
    const session = new ClientSession(body.script);
    session.send(POST);
    for (const byte of "helloworld") {
      session.wait(SETTINGS.readTimeoutMs - 100);
      session.send(byte);
    }
    expect(repliesIn(session.got)[0]!.body).toBe("helloworld");
  });

  test("that trickles is refused when its time is used up, however steadily it comes", () => {
    const body = new BodyRecorder();
    const session = new ClientSession(body.script, { minBodyRate: 240 });
    session.send(POST);
    for (let i = 0; i < 10 && session.got === ""; i++) {
      session.wait(1500);
      if (session.got === "") session.send("h");
    }
    expect(statusesIn(session.got)).toEqual([408]);
    expect(body.events.slice(-2)).toEqual([`fault ${Fault.BodyTooSlow}`, "cancelled"]);
  });

  test("whose taker has stopped it uses up none of its time", () => {
    const body = new BodyRecorder();
    body.whenDone = (ex) => ex.sink.fixed(ex, textReply(body.text));
    const session = new ClientSession(body.script, { minBodyRate: 240 });
    let resume = (): void => {};
    body.afterPiece = (ex) => {
      ex.flow.pauseBody(ex);
      resume = () => ex.flow.resumeBody(ex);
    };
    session.send(`${POST}hello`);
    session.wait(100_000);
    body.afterPiece = () => {};
    session.inTurn(() => resume());
    session.wait(9000);
    session.send("world");
    expect(repliesIn(session.got)[0]!.body).toBe("helloworld");
  });

  test("that is complete has no time limit: the handler may take longer", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(`${POST}hello`);
    session.wait(1000);
    session.send("world");
    session.wait(SETTINGS.readTimeoutMs * 2);
    session.inTurn(() => late.answer());
    expect(statusesIn(session.got)).toEqual([200]);
  });
});

describe("a client that stops reading", () => {
  function streaming(): { late: LateAnswers; session: ClientSession; body: BodyRecorder } {
    const late = new LateAnswers();
    const body = new BodyRecorder();
    const session = new ClientSession((ex) => {
      ex.source = body;
      late.script(ex);
    });
    return { late, session, body };
  }

  test("in the middle of a stream is cut, and the source hears of it", () => {
    const { late, session, body } = streaming();
    session.send(GET);
    const ex = late.take();
    session.socket.room = 1000;
    session.inTurn(() => {
      beginReply(ex, 100_000);
      expect(writeReply(ex, "x".repeat(50_000))).toBe(false);
    });
    session.wait(SETTINGS.writeTimeoutMs - 100);
    expect(session.endings).toEqual([]);
    session.wait(100 + LATE_MS);
    expect(session.endings).toEqual(["terminate"]);
    expect(body.events.filter((event) => event === "cancelled").length).toBe(1);
  });

  test("and goes on in time is not cut, and the source goes on", () => {
    const { late, session, body } = streaming();
    session.send(GET);
    const ex = late.take();
    session.socket.room = 1000;
    session.inTurn(() => {
      beginReply(ex, 60_000);
      writeReply(ex, "x".repeat(50_000));
    });
    for (let i = 0; i < 4; i++) {
      session.wait(SETTINGS.writeTimeoutMs - 100);
      session.drain(5000);
      expect(body.events).toEqual([]);
    }
    session.drain();
    expect(body.events).toEqual(["writable"]);
    session.wait(SETTINGS.writeTimeoutMs * 2);
    session.inTurn(() => {
      writeReply(ex, "y".repeat(10_000));
      ex.sink.end(ex);
    });
    expect(repliesIn(session.got)[0]!.body.length).toBe(60_000);
    expect(session.endings).toEqual([]);
  });

  test("behind an answer that is complete is cut as soon", () => {
    const session = new ClientSession((ex) => ex.sink.fixed(ex, textReply("x".repeat(100))));
    session.socket.room = 10;
    session.send(GET);
    session.wait(SETTINGS.writeTimeoutMs + LATE_MS);
    expect(session.endings).toEqual(["terminate"]);
  });

  test("before the last answer of a closing connection is cut as soon", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.socket.room = 10;
    session.send("GET / HTTP/1.1\r\n\r\n");
    session.wait(SETTINGS.writeTimeoutMs + LATE_MS);
    expect(session.endings).toEqual(["terminate"]);
    expect(session.closes).toBe(1);
  });
});
