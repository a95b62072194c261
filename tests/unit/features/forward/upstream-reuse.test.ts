import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { repliesIn, statusesIn } from "../../edge/reply-text.ts";
import { FakeConnect } from "./fake-connect.ts";
import { ForwardSession, KEPT_MS, TIMES } from "./forward-session.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const HEAD = "HEAD /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let connect: FakeConnect;
beforeEach(() => {
  connect = new FakeConnect();
});
afterEach(() => connect.restore());

describe("a connection to an origin is kept", () => {
  test.each([
    ["a counted answer", GET, [OK]],
    ["a counted answer in pieces", GET, ["HTTP/1.1 200 OK\r\nContent-Le", "ngth: 5\r\n\r\nhe", "llo"]],
    ["a chunked answer", GET, ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"]],
    [
      "a chunked answer with trailers",
      GET,
      ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: y\r\n", "\r\n"],
    ],
    ["an answer of length 0", GET, ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]],
    ["a 204", GET, ["HTTP/1.1 204 No Content\r\n\r\n"]],
    ["a 304 with a length", GET, ["HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"]],
    ["an answer to HEAD", HEAD, ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"]],
    ["interim answers before the final one", GET, ["HTTP/1.1 100 Continue\r\n\r\n", `HTTP/1.1 103 x\r\n\r\n${OK}`]],
    ["HTTP/1.0 with keep-alive", GET, ["HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"]],
  ])("behind %s", (_name, request, pieces) => {
    const session = new ForwardSession();
    session.client.send(request);
    connect.last.open().send(...pieces);
    expect(session.kept).toBe(1);
    session.client.send(GET);
    expect(connect.attempts.length).toBe(1);
    connect.last.send(OK);
    expect(session.client.ended.at(-1)).toBe("/a 200");
    expect(session.client.endings).toEqual([]);
  });

  test("and taken by the client's next request at once, also when it was pipelined", () => {
    const session = new ForwardSession();
    session.client.send(GET + GET + GET);
    const origin = connect.last.open();
    for (let i = 0; i < 3; i++) origin.send(OK);
    expect(connect.attempts.length).toBe(1);
    expect(repliesIn(session.client.got).map((reply) => reply.body)).toEqual(["ok", "ok", "ok"]);
    expect(origin.got.match(/^GET \/a HTTP\/1\.1\r$/gm)!.length).toBe(3);
  });

  test("only so many, and only for so long", () => {
    const session = new ForwardSession();
    const other = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send(OK);
    const { socket } = connect.last;
    session.client.wait(KEPT_MS + 200);
    expect([session.kept, socket.calls]).toEqual([0, ["end"]]);
    expect(other.kept).toBe(0);
  });

  test("not when the pool is closed", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open();
    session.pools[0]!.close();
    connect.last.send(OK);
    expect([session.kept, connect.last.isEnded]).toEqual([0, true]);
    expect(statusesIn(session.client.got)).toEqual([200]);
  });

  test("until the origin ends it", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send(OK).end();
    expect([session.kept, connect.last.isEnded]).toEqual([0, true]);
    session.client.send(GET);
    expect(connect.attempts.length).toBe(2);
  });

  test("while the client still reads, and is read again by the next request", () => {
    const session = new ForwardSession();
    const length = 100_000;
    session.client.socket.room = 1000;
    session.client.send(GET);
    connect.last.open().send(`HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n${"x".repeat(length)}`);
    // The last piece was more than the client takes: whatever stopped the reading must not outlast the exchange.
    expect(session.kept).toBe(1);
    expect(connect.last.socket.isPaused).toBe(false);
    session.client.drain();
    expect(repliesIn(session.client.got)[0]!.body.length).toBe(length);
  });
});

describe("a connection to an origin is not kept", () => {
  test.each([
    ["Connection: close", GET, ["HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"]],
    [
      "Connection: close beside keep-alive",
      GET,
      ["HTTP/1.1 200 OK\r\nConnection: close, keep-alive\r\nContent-Length: 2\r\n\r\nok"],
    ],
    ["HTTP/1.0", GET, ["HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"]],
    ["bytes after the response", GET, [`${OK}HTTP/1.1 200 OK\r\n`]],
    ["one byte behind the answer", GET, [`${OK}\n`]],
    ["a body behind the answer to HEAD", HEAD, ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"]],
    ["a body behind a 304", GET, ["HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\nhello"]],
    ["an answer before the request was complete", POST, [OK]],
  ])("behind %s", (_name, request, pieces) => {
    const session = new ForwardSession();
    session.client.send(request);
    connect.last.open().send(...pieces);
    expect(session.kept).toBe(0);
    expect(connect.last.isEnded).toBe(true);
    expect(session.client.ended).toEqual([expect.stringMatching(/^\/a (200|304)$/)]);
  });

  test("behind an answer that runs until the end", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    const origin = connect.last.open().send("HTTP/1.1 200 OK\r\n\r\nsome", " more");
    expect(session.client.ended).toEqual([]);
    origin.end();
    expect(session.client.got).toContain("Transfer-Encoding: chunked");
    expect(session.client.got).toEndWith("0\r\n\r\n");
    expect([session.kept, origin.isEnded]).toEqual([0, true]);
    expect(session.client.endings).toEqual([]);
  });

  test("when it speaks unasked", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send(OK).send(OK);
    expect([session.kept, connect.last.socket.calls]).toEqual([0, ["terminate"]]);
    session.client.send(GET);
    expect(connect.attempts.length).toBe(2);
    expect(statusesIn(session.client.got)).toEqual([200]);
  });
});

describe("the time limits of an origin", () => {
  test("no connection in time: 504, and a late one is cut", () => {
    const session = new ForwardSession([81], { retryAttempts: 0 });
    session.client.send(GET);
    session.client.wait(TIMES.connectMs + 100);
    expect(statusesIn(session.client.got)).toEqual([504]);
    connect.last.open();
    expect(connect.last.socket.calls).toEqual(["terminate"]);
  });

  test("no answer in time: 504, and the connection is cut", () => {
    const session = new ForwardSession([81], { retryAttempts: 0 });
    session.client.send(GET);
    connect.last.open();
    session.client.wait(TIMES.responseHeaderMs - 100);
    expect(session.client.got).toBe("");
    session.client.wait(200);
    expect(statusesIn(session.client.got)).toEqual([504]);
    expect(connect.last.socket.calls).toEqual(["terminate"]);
  });

  test("an answer that stops: the client's answer is cut", () => {
    const session = new ForwardSession();
    session.client.send(GET);
    connect.last.open().send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhel");
    session.client.wait(TIMES.idleMs - 100);
    connect.last.send("lo");
    session.client.wait(TIMES.idleMs - 100);
    expect(session.client.endings).toEqual([]);
    session.client.wait(200);
    expect(session.client.endings).toEqual(["terminate"]);
  });

  test("do not run while the client keeps the origin waiting", () => {
    const session = new ForwardSession();
    session.client.send(POST);
    const origin = connect.last.open();
    session.client.wait(TIMES.responseHeaderMs + 5000);
    session.client.send("helloworld");
    origin.send(OK);
    expect(statusesIn(session.client.got)).toEqual([200]);
  });
});
