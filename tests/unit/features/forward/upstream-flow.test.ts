import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { DRAIN_MS, TUNNEL_IDLE_MS } from "../../../../src/edge/limits.ts";
import { repliesIn, statusesIn } from "../../edge/reply-text.ts";
import { FakeConnect } from "./fake-connect.ts";
import { ForwardSession, TIMES } from "./forward-session.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const POST = "POST /a HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\n";
const CHUNKED = "POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const UPGRADE = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

let connect: FakeConnect;
beforeEach(() => {
  connect = new FakeConnect();
});
afterEach(() => connect.restore());

describe("an answer for a client that reads slowly", () => {
  const length = 120_000;
  const head = `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\n\r\n`;

  test("stops the origin, goes on with the client, and comes out whole", () => {
    const session = new ForwardSession();
    session.client.socket.room = 1000;
    session.client.send(GET);
    const origin = connect.last.open().send(head, "x".repeat(40_000));
    expect(origin.socket.isPaused).toBe(true);
    session.client.drain(10_000);
    expect(origin.socket.isPaused).toBe(true);
    session.client.drain();
    expect(origin.socket.isPaused).toBe(false);
    origin.send("y".repeat(80_000));
    const [reply] = repliesIn(session.client.got);
    expect(reply!.body).toBe("x".repeat(40_000) + "y".repeat(80_000));
    expect(session.kept).toBe(1);
  });

  test("is not the origin's delay", () => {
    const session = new ForwardSession();
    session.client.socket.room = 1000;
    session.client.send(GET);
    const origin = connect.last.open().send(head, "x".repeat(40_000));
    for (let i = 0; i < 4; i++) {
      session.client.wait(TIMES.idleMs - 10_000);
      session.client.drain(1000);
    }
    expect(origin.isEnded).toBe(false);
    session.client.drain();
    session.client.wait(TIMES.idleMs + 200);
    // Now it is.
    expect(origin.socket.calls.at(-1)).toBe("terminate");
  });

  test("that runs until the end ends in order, though the origin ended long ago", () => {
    const session = new ForwardSession();
    session.client.socket.room = 1000;
    session.client.send(GET);
    const origin = connect.last.open().send("HTTP/1.1 200 OK\r\n\r\n", "x".repeat(40_000));
    origin.end();
    expect(session.client.ended).toEqual([]);
    session.client.drain();
    expect(session.client.got).toEndWith("\r\n0\r\n\r\n");
    expect(session.client.ended).toEqual(["/a 200"]);
    expect(origin.isEnded).toBe(true);
  });

  test("keeps what came behind it from being lost in chunks", () => {
    const session = new ForwardSession();
    session.client.socket.room = 1000;
    session.client.send(GET);
    const chunk = `4e20\r\n${"x".repeat(20_000)}\r\n`;
    connect.last.open().send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(5)}0\r\n\r\n`);
    for (let i = 0; i < 10; i++) session.client.drain(15_000);
    session.client.drain();
    expect(session.client.got).toEndWith("0\r\n\r\n");
    expect(session.client.got.length).toBeGreaterThan(100_000);
    expect(session.kept).toBe(1);
  });
});

describe("a request body for an origin that reads slowly", () => {
  test("stops the client, goes on with the origin, and arrives whole", () => {
    const session = new ForwardSession();
    session.client.send(POST);
    const origin = connect.last.open();
    origin.socket.room = 1000;
    session.client.send("x".repeat(40_000));
    session.client.send("y".repeat(20_000));
    expect(session.client.socket.isPaused).toBe(true);
    origin.drain();
    expect(session.client.socket.isPaused).toBe(false);
    session.client.send("z".repeat(40_000));
    expect(origin.got).toEndWith("x".repeat(40_000) + "y".repeat(20_000) + "z".repeat(40_000));
    origin.send(OK);
    expect(statusesIn(session.client.got)).toEqual([200]);
    expect(session.kept).toBe(1);
  });

  test("is the origin's delay", () => {
    const session = new ForwardSession([81], { retryAttempts: 0 });
    session.client.send(POST);
    const origin = connect.last.open();
    origin.socket.room = 1000;
    session.client.send("x".repeat(40_000), "y");
    session.client.wait(TIMES.responseHeaderMs + 200);
    expect(origin.socket.calls.at(-1)).toBe("terminate");
    // The answer waits a moment for the rest of the body.
    session.client.wait(DRAIN_MS + 200);
    expect(repliesIn(session.client.got)[0]!.status).toBe(504);
  });

  test("waits until there is a connection", () => {
    const session = new ForwardSession();
    session.client.send(POST, "x".repeat(1000));
    expect(session.client.socket.isPaused).toBe(true);
    connect.last.open();
    expect(session.client.socket.isPaused).toBe(false);
    expect(connect.last.got).toEndWith(`\r\n\r\n${"x".repeat(1000)}`);
  });

  test("in chunks goes on in canonical chunks", () => {
    const session = new ForwardSession();
    session.client.send(CHUNKED);
    connect.last.open();
    session.client.send("005;x=y\r\nhello\r\n", "5\r\nwo", "rld\r\n0\r\nX-T: y\r\n\r\n");
    const body = connect.last.got.slice(connect.last.got.indexOf("\r\n\r\n") + 4);
    expect(body).toStartWith("5\r\nhello\r\n2\r\nwo\r\n3\r\nrld\r\n0\r\n");
    expect(body).toEndWith("\r\n\r\n");
    expect(connect.last.got).toContain("Transfer-Encoding: chunked\r\n");
  });

  test("is asked for once there is a connection", () => {
    const session = new ForwardSession();
    session.client.send(POST.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"));
    expect(session.client.got).toBe("");
    connect.last.open();
    expect(statusesIn(session.client.got)).toEqual([100]);
    expect(connect.last.got).not.toContain("Expect");
  });

  test("may be answered early: the answer comes through, the rest is drained, the connection is not kept", () => {
    const session = new ForwardSession();
    session.client.send(CHUNKED, "5\r\nhello\r\n");
    const origin = connect.last.open().send(OK);
    expect(statusesIn(session.client.got)).toEqual([200]);
    expect(origin.socket.calls).toEqual(["terminate"]);
    session.client.send(`5\r\nworld\r\n0\r\n\r\n${GET}`);
    connect.last.open().send(OK);
    expect(statusesIn(session.client.got)).toEqual([200, 200]);
    expect(connect.attempts.length).toBe(2);
    expect(origin.got).not.toContain("world");
  });
});

describe("a tunnel to an origin", () => {
  test("carries both ways, what came early first", () => {
    const session = new ForwardSession();
    session.client.send(`${UPGRADE}early client;`);
    const origin = connect.last.open().send(`${SWITCHED}early origin;`);
    session.client.send("client");
    origin.send("origin");
    expect(origin.got).toEndWith("\r\n\r\nearly client;client");
    expect(session.client.got).toEndWith("\r\n\r\nearly origin;origin");
    expect(origin.got).toContain("Upgrade: websocket\r\n");
    expect(origin.got).toContain("Connection: Upgrade\r\n");
  });

  test("outlives the time limits of answers", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    const origin = connect.last.open().send(SWITCHED);
    session.client.wait(TUNNEL_IDLE_MS / 4);
    session.client.send("still there");
    expect(origin.got).toEndWith("still there");
  });

  test("that the origin does not grant is an answer, and the client's connection closes", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    connect.last.open().send(OK);
    expect(repliesIn(session.client.got)[0]!.fields.get("connection")).toBe("close");
    expect(session.client.endings).toEqual(["shutdown"]);
    expect(session.kept).toBe(1);
  });

  test("stops the client where the origin takes no more, and the origin where the client does not", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    const origin = connect.last.open().send(SWITCHED);
    origin.socket.room = 100;
    session.client.send("x".repeat(40_000));
    expect(session.client.socket.isPaused).toBe(true);
    origin.drain();
    expect(session.client.socket.isPaused).toBe(false);
    session.client.socket.room = 100;
    origin.send("y".repeat(40_000));
    expect(origin.socket.isPaused).toBe(true);
    session.client.drain();
    expect(origin.socket.isPaused).toBe(false);
    expect(origin.got).toEndWith("x".repeat(40_000));
    expect(session.client.got).toEndWith("y".repeat(40_000));
  });

  test("ended by the client's direction: the origin is told, and its last words come through", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    const origin = connect.last.open().send(SWITCHED);
    session.client.send("bye");
    session.client.end();
    expect(origin.got).toEndWith("bye");
    expect(origin.socket.calls).toEqual(["shutdown"]);
    origin.send("bye bye").end();
    expect(session.client.got).toEndWith("bye bye");
    expect(session.client.endings).toEqual(["end"]);
  });

  test("ended by the client's direction while the origin reads slowly: nothing is lost", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    const origin = connect.last.open().send(SWITCHED);
    origin.socket.room = 100;
    session.client.send("x".repeat(40_000));
    session.client.end();
    expect(origin.socket.calls).toEqual([]);
    origin.drain();
    expect(origin.got).toEndWith("x".repeat(40_000));
    expect(origin.socket.calls).toEqual(["shutdown"]);
  });

  test("ended by the origin's direction: both connections close", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    const origin = connect.last.open().send(SWITCHED, "bye");
    origin.end();
    expect(session.client.got).toEndWith("bye");
    session.client.wait(5000);
    expect(session.client.closes).toBe(1);
    expect(origin.isEnded).toBe(true);
  });

  test("lost on one side closes the other", () => {
    const session = new ForwardSession();
    session.client.send(UPGRADE);
    connect.last.open().send(SWITCHED);
    session.client.lose();
    expect(connect.last.isEnded).toBe(true);
    const other = new ForwardSession();
    other.client.send(UPGRADE);
    connect.last.open().send(SWITCHED).lose();
    expect(other.client.endings).toEqual(["shutdown"]);
  });
});
