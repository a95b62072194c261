import { describe, expect, test } from "bun:test";
import { ClientSession, SETTINGS } from "./client-session.ts";
import { statusesIn } from "./reply-text.ts";
import { BodyRecorder, ECHO_TARGET, LateAnswers } from "./scripts.ts";

const GOOD = "GET /good HTTP/1.1\r\nHost: a.test\r\n\r\n";
const BROKEN = "GET /broken HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";
const LATE = "GET /late HTTP/1.1\r\nHost: a.test\r\n\r\n";

function broken(): never {
  throw new Error("a handler is broken");
}

/** Answers `/good`, throws on `/broken`, leaves `/late` to the test. */
function mixed(late: LateAnswers): ClientSession {
  return new ClientSession((ex) => {
    const target = ex.request.target();
    if (target === "/broken") broken();
    else if (target === "/late") late.script(ex);
    else ECHO_TARGET(ex);
  });
}

describe("an exception", () => {
  test("in a handler costs the connection, and somebody hears of it", () => {
    const session = mixed(new LateAnswers());
    session.send(GOOD, BROKEN);
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.endings).toContain("terminate");
    expect(session.exceptions.length).toBe(1);
    expect([session.closes, session.ended]).toEqual([1, ["/good 200", "/broken cut"]]);
  });

  test("in a taker of a body costs the connection; its source hears of the end", () => {
    const body = new BodyRecorder();
    body.afterPiece = broken;
    const session = new ClientSession(body.script);
    session.send(`${POST}hello`);
    expect(session.endings).toContain("terminate");
    expect(body.events).toContain("cancelled");
    expect(session.closes).toBe(1);
  });

  test("while the connection is given up does not escape", () => {
    const session = new ClientSession((ex) => {
      ex.source = { onWritable: () => {}, onCancelled: broken };
      broken();
    });
    session.send(GOOD);
    expect(session.endings).toContain("terminate");
    expect(session.exceptions.length).toBe(2);
    expect(session.closes).toBe(1);
  });

  test("leaves everything else as it was: every slab and every request object comes back", () => {
    const session = mixed(new LateAnswers());
    session.send(GOOD + BROKEN);
    expect(session.slabs.out.size).toBe(0);
    expect(session.ctx.requests.take()!.exchange.held).toBeNull();
  });

  // Whoever completes the answer before has no part in it: it works for another connection, or for several.
  test("in the request behind a late answer costs this connection, not the one that answered", () => {
    const late = new LateAnswers();
    const session = mixed(late);
    session.send(LATE + BROKEN);
    expect(() => {
      late.answer();
      session.ctx.writers.flushAll();
    }).not.toThrow();
    expect(session.exceptions.length).toBe(1);
    expect(session.endings).toContain("terminate");
    expect(session.closes).toBe(1);
  });

  test("in a timer costs the connection", () => {
    const session = new ClientSession((ex) => {
      ex.body = { onBody: () => {}, onBodyEnd: () => {}, onBodyFault: broken };
    });
    session.send(`${POST}hello`);
    session.wait(SETTINGS.readTimeoutMs + 100);
    expect(session.exceptions.length).toBeGreaterThan(0);
    expect(session.endings).toContain("terminate");
    expect(session.closes).toBe(1);
  });
});
