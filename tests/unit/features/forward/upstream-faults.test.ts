import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { FaultDetail } from "../../../../src/core/fault-detail.ts";
import { repliesIn, statusesIn } from "../../edge/reply-text.ts";
import { responseVectors } from "../../proto/h1/response-log.ts";
import { bytesOf } from "../../proto/vector-file.ts";
import { takenOf } from "../ingest/body-route.ts";
import { FakeConnect } from "./fake-connect.ts";
import { ForwardSession } from "./forward-session.ts";
import { gathering } from "./gathering.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";
const CHUNKED = "POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let connect: FakeConnect;
beforeEach(() => {
  connect = new FakeConnect();
});
afterEach(() => connect.restore());

describe("a failed attempt", () => {
  test("without a connection: nothing was sent, and another target is tried", async () => {
    const session = new ForwardSession([81, 82]);
    session.client.send(POST);
    await connect.last.refuse();
    expect(session.failures).toEqual([
      {
        fault: Fault.UpstreamUnavailable,
        detail: FaultDetail.ConnectRefused,
        sent: false,
        bodyTaken: false,
        answered: false,
        reused: false,
      },
    ]);
    expect(connect.attempts.map((attempt) => attempt.port)).toEqual([81, 82]);
    session.client.send("helloworld");
    connect.last.open().send(OK);
    expect(connect.last.got).toEndWith("\r\n\r\nhelloworld");
    expect(statusesIn(session.client.got)).toEqual([200]);
  });

  test("without any connection: 502, and the client's connection is kept", async () => {
    const session = new ForwardSession([81, 82]);
    session.client.send(GET);
    await connect.last.refuse();
    await connect.last.refuse();
    const [reply] = repliesIn(session.client.got);
    expect([reply!.status, JSON.parse(reply!.body)]).toEqual([
      502,
      { error: "502 Bad Gateway", message: "upstream unavailable" },
    ]);
    expect([connect.attempts.length, session.client.endings]).toEqual([2, []]);
  });

  test("after the head was sent: an idempotent request is tried again on a new connection", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send(OK);
    session.client.send(GET);
    expect(connect.attempts.length).toBe(1);
    connect.last.lose();
    expect(session.failures).toEqual([
      {
        fault: Fault.UpstreamUnavailable,
        detail: FaultDetail.ClosedBeforeHead,
        sent: true,
        bodyTaken: false,
        answered: false,
        reused: true,
      },
    ]);
    expect(connect.attempts.length).toBe(2);
    connect.last.open().send(OK);
    expect(statusesIn(session.client.got)).toEqual([200, 200]);
  });

  test("after the head was sent: another request is not", () => {
    const session = new ForwardSession();
    session.client.send(`${POST}helloworld`);
    connect.last.open().lose();
    expect(session.failures[0]).toEqual({
      fault: Fault.UpstreamUnavailable,
      detail: FaultDetail.ClosedBeforeHead,
      sent: true,
      bodyTaken: true,
      answered: false,
      reused: false,
    });
    expect([statusesIn(session.client.got), connect.attempts.length]).toEqual([[502], 1]);
  });

  test("after a large body has begun to flow: not even an idempotent request is", () => {
    const session = new ForwardSession();
    session.client.send("PUT /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 20000\r\n\r\nhel");
    connect.last.open().lose();
    expect(connect.attempts.length).toBe(1);
    session.client.send("x".repeat(19_997));
    expect(statusesIn(session.client.got)).toEqual([502]);
  });

  test("with a small body: an idempotent request is, whole", () => {
    const session = new ForwardSession();
    session.client.send(`${POST.replace("POST", "PUT")}hel`);
    expect(connect.attempts.length).toBe(0);
    session.client.send("loworld");
    connect.last.open().lose();
    expect(connect.attempts.length).toBe(2);
    expect(connect.last.open().got).toEndWith("\r\n\r\nhelloworld");
    connect.last.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    expect(statusesIn(session.client.got)).toEqual([200]);
  });

  test("after half a head of an answer: no request is", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 200 O").lose();
    expect(session.failures[0]!.answered).toBe(true);
    expect([statusesIn(session.client.got), connect.attempts.length]).toEqual([[502], 1]);
  });

  test("after an interim answer: no request is", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n").end();
    expect(session.failures[0]!.answered).toBe(true);
    expect(statusesIn(session.client.got)).toEqual([103, 502]);
  });

  test("is repeated only as often as the route says", async () => {
    const session = new ForwardSession([81], { retryAttempts: 2 });
    session.client.send(GET);
    for (let i = 0; i < 3; i++) await connect.last.refuse();
    expect([connect.attempts.length, statusesIn(session.client.got)]).toEqual([3, [502]]);
  });

  test("of a gathered body: its memory is given back", async () => {
    const { budget, phases } = gathering();
    const session = new ForwardSession([81], { retryAttempts: 0 }, phases);
    session.client.send(`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`);
    expect(takenOf(budget)).toBeGreaterThan(0);
    await connect.last.refuse();
    expect(statusesIn(session.client.got)).toEqual([502]);
    expect(takenOf(budget)).toBe(0);
  });

  test("of a gathered body, before a connection: the same bytes go to the next target", async () => {
    const { budget, phases } = gathering();
    const session = new ForwardSession([81, 82], {}, phases);
    session.client.send(`${CHUNKED}5\r\nhello\r\n0\r\n\r\n`);
    await connect.last.refuse();
    connect.last.open();
    expect(connect.last.got).toContain("Content-Length: 5\r\n");
    expect(connect.last.got).toEndWith("\r\n\r\nhello");
    connect.last.send(OK);
    expect(statusesIn(session.client.got)).toEqual([200]);
    expect(takenOf(budget)).toBe(0);
  });
});

describe("a malformed response", () => {
  test("is 502, and the connection is cut, never kept", () => {
    for (const vector of responseVectors()) {
      if (vector.fault === undefined || (vector.method ?? "GET") !== "GET") continue;
      const session = new ForwardSession();
      session.client.send(GET);
      connect.last.open().send(bytesOf(vector.input).toString("latin1"));
      // What the parser lets pass is the business of its own tests.
      if (session.client.got.startsWith("HTTP/1.1 200")) continue;
      const found = [vector.name, ...statusesIn(session.client.got), session.kept, ...connect.last.socket.calls];
      expect(found).toEqual([vector.name, 502, 0, "terminate"]);
      expect(session.failures[0]!.fault).toBe(Fault.UpstreamMalformed);
    }
  });

  test("in its body cuts the client's answer", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "zz\r\n");
    expect(session.client.got).not.toContain("0\r\n\r\n");
    expect([session.client.endings, connect.last.socket.calls]).toEqual([["terminate"], ["terminate"]]);
  });

  test("is none of many interim answers, of which a hundred go on", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(150));
    connect.last.send("HTTP/1.1 100 Continue\r\n\r\n".repeat(150), OK);
    const statuses = statusesIn(session.client.got);
    expect([statuses.filter((status) => status === 103).length, statuses.length, statuses.at(-1)]).toEqual([
      100, 101, 200,
    ]);
    expect(session.failures).toEqual([]);
  });

  test("that leaves HTTP unasked is 502", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
    expect([statusesIn(session.client.got), connect.last.socket.calls]).toEqual([[502], ["terminate"]]);
  });
});

describe("an answer that is cut", () => {
  test.each([
    ["a counted body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"],
    ["a chunked body", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ["a chunked body before its last line", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"],
  ])("%s: the client's answer is cut, whether the origin ends or is lost", (_name, text) => {
    for (const how of ["end", "lose"] as const) {
      const session = new ForwardSession();
      session.client.send(GET);
      connect.last.open().send(text)[how]();
      expect(session.client.endings).toEqual(["terminate"]);
      expect(session.client.got).not.toContain("\r\n0\r\n\r\n");
      expect(session.client.ended).toEqual(["/a 200"]);
    }
  });

  test("a body that runs until the end, lost: the client's answer is cut", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 200 OK\r\n\r\nhello").lose();
    expect(session.client.endings).toEqual(["terminate"]);
    expect(session.client.got).not.toContain("0\r\n\r\n");
  });
});

describe("a client that goes away", () => {
  test("while it waits: the origin's connection is cut", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open();
    session.client.lose();
    expect(connect.last.socket.calls).toEqual(["terminate"]);
    expect([session.kept, session.failures]).toEqual([0, []]);
  });

  test("before the connection is there: a late one is cut", () => {
    const session = new ForwardSession();
    session.client.send(POST);
    session.client.lose();
    connect.last.open();
    expect(connect.last.socket.calls).toEqual(["terminate"]);
    expect(connect.last.got).toBe("");
  });

  test("in its body: the origin gets no end of it", () => {
    const session = new ForwardSession();
    session.client.send(`${CHUNKED}5\r\nhello\r\n`);
    connect.last.open();
    session.client.lose();
    expect(connect.last.socket.calls).toEqual(["terminate"]);
    expect(connect.last.got).not.toContain("0\r\n\r\n");
  });

  test("with a framing fault in its body: the origin's connection is cut at once", () => {
    const session = new ForwardSession();
    session.client.send(`${CHUNKED}5\r\nhello\r\n`);
    connect.last.open();
    session.client.send("zz\r\n");
    expect(connect.last.socket.calls).toEqual(["terminate"]);
    expect(connect.last.got).toEndWith("5\r\nhello\r\n");
    expect(statusesIn(session.client.got)).toEqual([400]);
  });

  test("in the middle of the answer: the origin's connection is cut", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    session.client.lose();
    expect(connect.last.socket.calls).toEqual(["terminate"]);
    connect.last.send("world");
    expect(session.client.ended).toEqual(["/a 200"]);
  });
});

describe("an exception", () => {
  test("in the handling of an answer costs its exchange: both connections end, others go on", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    const origin = connect.last.open();
    const ex = session.client.connection.current!.exchange;
    ex.sink.head = () => {
      throw new Error("broken");
    };
    origin.send(OK);
    expect(session.client.exceptions.length).toBe(1);
    expect(origin.socket.calls).toEqual(["terminate"]);
    expect(statusesIn(session.client.got)).toEqual([500]);
    expect(session.client.endings).toEqual(["shutdown"]);
  });
});
