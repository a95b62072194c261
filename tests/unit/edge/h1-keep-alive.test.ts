import { describe, expect, test } from "bun:test";
import { DRAIN_IDLE_MS } from "../../../src/edge/limits.ts";
import { ClientSession } from "./client-session.ts";
import { repliesIn, statusesIn } from "./reply-text.ts";
import { BodyRecorder, beginReply, ECHO_TARGET, LateAnswers, textReply, writeReply } from "./scripts.ts";

const HOST = "Host: a.test\r\n";

/** A request for a target. */
function get(target: string, ...lines: readonly string[]): string {
  return `GET ${target} HTTP/1.1\r\n${HOST}${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
}

function bodies(text: string): string[] {
  return repliesIn(text).map((reply) => reply.body);
}

describe("one request behind the other", () => {
  test("a connection serves many", () => {
    const session = new ClientSession(ECHO_TARGET);
    for (const target of ["/a", "/b", "/c"]) session.send(get(target));
    expect(bodies(session.got)).toEqual(["/a", "/b", "/c"]);
    expect(session.socket.calls).toEqual([]);
    expect(session.ended).toEqual(["/a 200", "/b 200", "/c 200"]);
  });

  test("bodies between them do not get in the way", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`POST /a HTTP/1.1\r\n${HOST}Content-Length: 20\r\n\r\n${"GET /x HTTP/1.1\r\n\r\n"} `);
    session.send(`POST /b HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\nGET\r\n0\r\n\r\n`);
    session.send(get("/c"));
    expect(bodies(session.got)).toEqual(["/a", "/b", "/c"]);
    expect(session.handled).toEqual(["/a", "/b", "/c"]);
  });

  test("heads may come byte by byte", () => {
    const session = new ClientSession(ECHO_TARGET);
    for (const target of ["/a", "/b"]) session.sendBytewise(get(target));
    expect(bodies(session.got)).toEqual(["/a", "/b"]);
  });

  test("one CRLF between them is let pass, two are not", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(get("/a"), `\r\n${get("/b")}`, `\r\n\r\n${get("/c")}`);
    expect(statusesIn(session.got)).toEqual([200, 200, 400]);
  });

  test("HEAD gets the fields of GET and no body", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`HEAD /abc HTTP/1.1\r\n${HOST}\r\n`, get("/d"));
    const [head, next] = repliesIn(session.got, [0]);
    expect(head!.fields.get("content-length")).toBe("4");
    expect(head!.body).toBe("");
    expect(next!.body).toBe("/d");
  });
});

describe("a body that the origin did not take", () => {
  test("stopped at its last piece, does not stop the next request", () => {
    const body = new BodyRecorder();
    const session = new ClientSession((ex) => (ex.request.target() === "/a" ? body.script(ex) : ECHO_TARGET(ex)));
    body.afterPiece = (ex) => ex.flow.pauseBody(ex);
    body.whenDone = (ex) => ex.sink.fixed(ex, textReply("/a"));
    session.send(`POST /a HTTP/1.1\r\n${HOST}Content-Length: 5\r\n\r\nhello`);
    expect([bodies(session.got), session.socket.isPaused]).toEqual([["/a"], false]);
    session.send("GET /b HT", `TP/1.1\r\n${HOST}\r\n`);
    expect([bodies(session.got), session.socket.isPaused]).toEqual([["/a", "/b"], false]);
  });
});

describe("how a connection ends", () => {
  test.each([
    ["Connection: close", get("/a", "Connection: close")],
    ["HTTP/1.0", `GET /a HTTP/1.0\r\n${HOST}\r\n`],
  ])("%s closes at once: the client has said its last", (_name, request) => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(request);
    expect(repliesIn(session.got)[0]!.fields.get("connection")).toBe("close");
    expect(session.endings).toEqual(["end"]);
    expect(session.closes).toBe(1);
  });

  test.each([
    ["CONNECT", "CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n"],
    ["an upgrade that is not granted", get("/a", "Connection: Upgrade", "Upgrade: x")],
  ])("%s closes behind its answer", (_name, request) => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(request);
    expect(repliesIn(session.got)[0]!.fields.get("connection")).toBe("close");
    expect(session.endings).toEqual(["shutdown"]);
    session.end();
    expect(session.endings).toEqual(["shutdown", "end"]);
    expect(session.closes).toBe(1);
  });

  test("what follows a request that closes is never run", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(get("/a", "Connection: close") + get("/b"));
    expect(session.handled).toEqual(["/a"]);
    // The client was still sending: closing at once would destroy the answer.
    expect(session.endings).toEqual(["shutdown"]);
    session.send(get("/c"));
    expect(session.handled).toEqual(["/a"]);
  });

  test("HTTP/1.0 with keep-alive stays open and is told so", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`, `GET /b HTTP/1.0\r\n\r\n`);
    expect(repliesIn(session.got).map((reply) => reply.fields.get("connection"))).toEqual(["keep-alive", "close"]);
  });

  test("a handler may ask for the end", () => {
    const session = new ClientSession((ex) => {
      ex.response.close = true;
      ex.sink.fixed(ex, textReply("last"));
    });
    session.send(get("/a"));
    expect(repliesIn(session.got)[0]!.fields.get("connection")).toBe("close");
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("a body of unknown length for HTTP/1.0 ends with the connection", () => {
    const session = new ClientSession((ex) => {
      beginReply(ex, -1);
      writeReply(ex, "abc");
      ex.sink.end(ex);
    });
    session.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    expect(session.got).toEndWith("Connection: close\r\n\r\nabc");
    expect(session.got).not.toContain("chunked");
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("a shutdown ends an idle connection after a moment, and a busy one with its answer", () => {
    const idle = new ClientSession(ECHO_TARGET);
    idle.ctx.draining = true;
    idle.inTurn(() => idle.connection.drain());
    idle.wait(DRAIN_IDLE_MS + 100);
    expect(idle.endings).toEqual(["end"]);
    const late = new LateAnswers();
    const busy = new ClientSession(late.script);
    busy.send(get("/a"));
    busy.ctx.draining = true;
    busy.inTurn(() => busy.connection.drain());
    expect(busy.endings).toEqual([]);
    busy.inTurn(() => late.answer());
    expect(repliesIn(busy.got)[0]!.fields.get("connection")).toBe("close");
    expect(busy.endings).toEqual(["shutdown"]);
  });

  test("a shutdown lets an answer that the client is still reading go out whole", () => {
    const length = 100_000;
    const session = new ClientSession((ex) => {
      beginReply(ex, length);
      writeReply(ex, "x".repeat(length));
      ex.sink.end(ex);
    });
    session.socket.room = 1000;
    session.send(get("/a"));
    session.ctx.draining = true;
    session.inTurn(() => session.connection.drain());
    session.wait(DRAIN_IDLE_MS + 100);
    session.drain();
    expect(session.endings).not.toContain("terminate");
    expect(session.got.length).toBeGreaterThan(length);
  });
});

describe("a client that ends its direction", () => {
  test("gets its answer before the connection closes", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(get("/a"));
    session.end();
    expect(session.endings).toEqual([]);
    session.inTurn(() => late.answer());
    expect(bodies(session.got)).toEqual(["/a"]);
    expect(session.endings).toEqual(["end"]);
  });

  test("gets all answers of what it has pipelined", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(get("/a") + get("/b"));
    session.end();
    session.inTurn(() => late.answer());
    session.inTurn(() => late.answer());
    expect(bodies(session.got)).toEqual(["/a", "/b"]);
    expect(session.endings).toEqual(["end"]);
  });

  test("gets nothing where it asked for nothing", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.end();
    expect([session.got, session.endings]).toEqual(["", ["end"]]);
  });

  test("gets nothing for the CRLF behind its last body", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(`POST /a HTTP/1.1\r\n${HOST}Content-Length: 1\r\n\r\nx\r\n`);
    session.end();
    expect(statusesIn(session.got)).toEqual([200]);
    expect(session.endings).toEqual(["end"]);
  });

  test("gets 400 for half a head", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send("GET /a HTT");
    session.end();
    expect(statusesIn(session.got)).toEqual([400]);
    expect(session.endings).toEqual(["end"]);
  });
});
