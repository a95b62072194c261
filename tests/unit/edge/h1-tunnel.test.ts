import { describe, expect, test } from "bun:test";
import { LINGER_MS } from "../../../src/edge/client-socket.ts";
import { TUNNEL_IDLE_MS } from "../../../src/edge/limits.ts";
import type { TunnelEnd } from "../../../src/message/ports.ts";
import { ClientSession } from "./client-session.ts";
import { LateAnswers } from "./scripts.ts";
import { TunnelPeer } from "./tunnel-peer.ts";

const UPGRADE = "GET /ws HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\n";

/** A connection that has become a tunnel to `origin`. */
function tunnelled(early = ""): { session: ClientSession; origin: TunnelPeer; client: TunnelEnd } {
  const late = new LateAnswers();
  const session = new ClientSession(late.script);
  session.send(UPGRADE + early);
  const ex = late.take();
  const origin = new TunnelPeer();
  let client: TunnelEnd = origin;
  session.inTurn(() => {
    ex.response.status = 101;
    ex.response.fromUpstream = true;
    ex.response.headers.resetOwn();
    ex.response.headers.add("Upgrade", "websocket");
    client = ex.sink.upgrade(ex, origin);
    client.tunnelStart();
  });
  return { session, origin, client };
}

function write(session: ClientSession, to: TunnelEnd, text: string): boolean {
  let taken = false;
  const bytes = Buffer.from(text, "latin1");
  session.inTurn(() => {
    taken = to.tunnelWrite(bytes, 0, bytes.length);
  });
  return taken;
}

describe("a tunnel", () => {
  test("begins with the origin's 101 and its Upgrade", () => {
    const { session } = tunnelled();
    expect(session.got).toStartWith(SWITCHED);
    expect(session.got).toContain("Upgrade: websocket\r\n");
    expect(session.got).toContain("Connection: Upgrade\r\n");
    expect(session.got).not.toContain("Content-Length");
    expect(session.got).toEndWith("\r\n\r\n");
  });

  test("carries bytes both ways as they come", () => {
    const { session, origin, client } = tunnelled();
    session.send("from the client", "\r\n\r\nGET / HTTP/1.1\r\n");
    expect(origin.text).toBe("from the client\r\n\r\nGET / HTTP/1.1\r\n");
    expect(write(session, client, "from the origin")).toBe(true);
    expect(session.got).toEndWith("\r\n\r\nfrom the origin");
    expect(session.handled).toEqual(["/ws"]);
  });

  test("begins with what the client sent early", () => {
    const { session, origin } = tunnelled("early bytes");
    expect(origin.text).toBe("early bytes");
    expect(session.socket.isPaused).toBe(false);
    session.send(", later bytes");
    expect(origin.text).toBe("early bytes, later bytes");
  });

  test("holds the client where the origin takes no more, and lets it go on", () => {
    const { session, origin, client } = tunnelled();
    origin.takesMore = false;
    session.send("much");
    expect(session.socket.isPaused).toBe(true);
    session.inTurn(() => client.tunnelWritable());
    expect(session.socket.isPaused).toBe(false);
  });

  test("holds the origin where the client takes no more, and lets it go on", () => {
    const { session, origin, client } = tunnelled();
    session.socket.room = 100;
    expect(write(session, client, "x".repeat(50_000))).toBe(false);
    expect(origin.events).toEqual([]);
    session.drain();
    expect(origin.events).toEqual(["writable"]);
    expect(session.got).toEndWith("x".repeat(50_000));
  });
});

describe("the end of a tunnel", () => {
  test("when the client ends its direction: the origin is told, and may go on", () => {
    const { session, origin, client } = tunnelled();
    session.send("last words");
    session.end();
    expect(origin.events).toEqual(["end"]);
    write(session, client, "an answer");
    expect(session.got).toEndWith("an answer");
    expect(session.endings).toEqual([]);
  });

  test("when the client had ended before it began: the origin is told", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(`${UPGRADE}early`);
    session.end();
    const origin = new TunnelPeer();
    const ex = late.take();
    session.inTurn(() => {
      ex.response.status = 101;
      ex.sink.upgrade(ex, origin).tunnelStart();
    });
    expect([origin.text, origin.events]).toEqual(["early", ["end"]]);
  });

  test("when the client is gone: the origin is told once", () => {
    const { session, origin } = tunnelled();
    session.lose();
    session.lose();
    expect(origin.events).toEqual(["close"]);
    expect([session.ended, session.closes]).toEqual([["/ws 101"], 1]);
  });

  test("when the origin closes: the client gets all of it, then the end", () => {
    const { session, client } = tunnelled();
    session.socket.room = 20;
    write(session, client, "last words of the origin");
    session.inTurn(() => client.tunnelClose());
    expect(session.endings).toEqual([]);
    session.drain();
    expect(session.got).toEndWith("last words of the origin");
    expect(session.endings).toEqual(["shutdown"]);
    session.end();
    expect(session.endings).toEqual(["shutdown", "end"]);
    expect(session.ended).toEqual(["/ws 101"]);
  });

  // The origin's connection has no timer of its own: nobody else would ever close it.
  test("when the origin ends its direction: its connection is closed too, once the client is done", () => {
    const { session, origin, client } = tunnelled();
    session.inTurn(() => client.tunnelEnd());
    session.wait(LINGER_MS + 200);
    expect(session.closes).toBe(1);
    expect(origin.events).toContain("close");
  });

  test("when nothing goes through for long: both sides close", () => {
    const { session, origin } = tunnelled();
    session.wait(TUNNEL_IDLE_MS / 2);
    session.send("alive");
    session.wait(TUNNEL_IDLE_MS - 100);
    expect(origin.events).toEqual([]);
    session.wait(200);
    expect(origin.events).toEqual(["close"]);
    expect(session.closes).toBe(1);
  });

  test("when the client does not read for long: both sides close", () => {
    const { session, origin, client } = tunnelled();
    session.socket.room = 0;
    write(session, client, "x".repeat(50_000));
    session.wait(TUNNEL_IDLE_MS + 200);
    expect(origin.events).toEqual(["close"]);
    expect(session.endings).toEqual(["terminate"]);
  });

  test("bytes that come after it are thrown away", () => {
    const { session, origin, client } = tunnelled();
    session.inTurn(() => client.tunnelClose());
    session.send("too late");
    expect(origin.text).toBe("");
    expect(write(session, client, "too late as well")).toBe(true);
    expect(session.got).not.toContain("too late");
  });
});
