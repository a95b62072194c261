import { describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { FAULTS } from "../../../src/core/fault-rows.ts";
import { LINGER_BYTES, LINGER_MS } from "../../../src/edge/client-socket.ts";
import { PIPELINED_BYTES } from "../../../src/edge/h1-connection.ts";
import { IN_PLACE } from "../proto/carriers.ts";
import { chunkVectors } from "../proto/h1/chunk-log.ts";
import { expectedLog, requestLog, requestVectors } from "../proto/h1/request-log.ts";
import { bytesOf } from "../proto/vector-file.ts";
import { ClientSession } from "./client-session.ts";
import { repliesIn, statusesIn } from "./reply-text.ts";
import { BodyRecorder, beginReply, ECHO_TARGET, LateAnswers, writeReply } from "./scripts.ts";

const BAD = "GET / HTTP/1.1\r\nHost : a.test\r\n\r\n";
const GOOD = "GET /good HTTP/1.1\r\nHost: a.test\r\n\r\n";
const STATUS_OF: ReadonlyMap<string, number> = new Map(FAULTS.map((row) => [row.label, row.status]));

/** The request that a chunk stream is the body of. */
const CHUNKED_HEAD = "POST /up HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n";

describe("a refused head", () => {
  test("gets one answer, with the fault's status, and closes; nothing behind it is run", () => {
    for (const vector of requestVectors()) {
      // What the parser finds is the business of its own tests.
      const isFound = requestLog([bytesOf(vector.input)], IN_PLACE) === expectedLog(vector);
      if (vector.fault === undefined || !isFound) continue;
      const session = new ClientSession(ECHO_TARGET);
      session.send(bytesOf(vector.input));
      session.send(GOOD);
      const [reply, ...others] = repliesIn(session.got);
      const found = [vector.name, reply?.status, reply?.fields.get("connection"), others.length, session.handled];
      expect(found).toEqual([vector.name, STATUS_OF.get(vector.fault), "close", 0, []]);
      expect(session.endings).toEqual(["shutdown"]);
      expect(session.ended.length).toBe(1);
    }
  });

  test("says in JSON what was wrong", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(BAD);
    const [reply] = repliesIn(session.got);
    expect(reply!.fields.get("content-type")).toBe("application/json");
    expect(JSON.parse(reply!.body)).toEqual({
      error: "400 Bad Request",
      message: "whitespace before the colon of a field name",
    });
  });

  test("is answered the same way when it comes byte by byte", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.sendBytewise(BAD + GOOD);
    expect(statusesIn(session.got)).toEqual([400]);
    expect(session.handled).toEqual([]);
  });

  test("does not disturb the answers before it", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(GOOD + GOOD + BAD + GOOD);
    expect(statusesIn(session.got)).toEqual([200, 200, 400]);
    expect(session.handled).toEqual(["/good", "/good"]);
  });
});

describe("a refused body", () => {
  test("gets one answer, closes, and whoever took the body hears of it once", () => {
    for (const vector of chunkVectors()) {
      if (vector.fault === undefined) continue;
      const body = new BodyRecorder();
      const session = new ClientSession((ex) => {
        ex.maxBodyBytes = vector.maxBodyBytes ?? 0;
        body.script(ex);
      });
      session.send(CHUNKED_HEAD, bytesOf(vector.input));
      const isCut = vector.fault === "body_truncated";
      if (isCut) session.end();
      const [reply, ...others] = repliesIn(session.got);
      const found = [vector.name, reply?.status, reply?.fields.get("connection"), others.length];
      expect(found).toEqual([vector.name, STATUS_OF.get(vector.fault), "close", 0]);
      const fault = FAULTS.findIndex((row) => row.label === vector.fault);
      expect(body.events).toEqual([`fault ${fault}`, "cancelled"]);
      expect(session.endings).toEqual([isCut ? "end" : "shutdown"]);
      session.send(GOOD);
      expect(session.handled).toEqual(["/up"]);
    }
  });

  test("cuts the connection when the answer has begun", () => {
    const body = new BodyRecorder();
    const session = new ClientSession((ex) => {
      body.script(ex);
      beginReply(ex, 100);
      writeReply(ex, "a part");
    });
    session.send(CHUNKED_HEAD, "zz\r\n");
    expect(session.endings).toEqual(["terminate"]);
    expect(session.got).toEndWith("a part");
    expect(body.events).toEqual([`fault ${Fault.BadChunkSize}`, "cancelled"]);
    expect(session.ended).toEqual(["/up 200"]);
  });
});

describe("the end of a refused connection", () => {
  test("waits for the client to close", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(BAD, GOOD);
    session.end();
    expect(session.endings).toEqual(["shutdown", "end"]);
    expect(session.closes).toBe(1);
  });

  test("does not wait for long", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(BAD);
    session.wait(LINGER_MS - 60);
    expect(session.endings).toEqual(["shutdown"]);
    session.wait(160);
    expect(session.endings).toEqual(["shutdown", "terminate"]);
    expect(session.closes).toBe(1);
  });

  test("does not read for ever", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.send(BAD);
    const flood = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < LINGER_BYTES; sent += flood.length) session.send(flood);
    expect(session.endings).toEqual(["shutdown", "terminate"]);
    expect(statusesIn(session.got)).toEqual([400]);
  });

  test("comes only once the answer is out", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.socket.room = 10;
    session.send(BAD);
    expect(session.endings).toEqual([]);
    session.drain(20);
    expect(session.endings).toEqual([]);
    session.drain();
    expect(statusesIn(session.got)).toEqual([400]);
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("reads on where the kernel was told to hold", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(GOOD + BAD.padEnd(PIPELINED_BYTES + 1, "x"));
    expect(session.socket.isPaused).toBe(true);
    session.inTurn(() => late.answer());
    expect(session.socket.isPaused).toBe(false);
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("closes in order when the client ends while the answer is going out", () => {
    const session = new ClientSession(ECHO_TARGET);
    session.socket.room = 10;
    session.send(BAD);
    session.end();
    expect(session.endings).toEqual([]);
    session.drain();
    expect(statusesIn(session.got)).toEqual([400]);
    session.wait(LINGER_MS + 100);
    expect(session.endings).not.toContain("terminate");
    expect(session.closes).toBe(1);
  });

  test("closes at once when the client has ended already", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(GOOD + BAD);
    session.end();
    session.inTurn(() => late.answer());
    expect(statusesIn(session.got)).toEqual([200, 400]);
    expect(session.endings).toEqual(["end"]);
  });
});

describe("an exchange that is refused by its handler", () => {
  test("keeps the connection where the fault's row says so", () => {
    const session = new ClientSession((ex) => ex.sink.abort(ex, Fault.NotFound));
    session.send(GOOD, GOOD);
    expect(statusesIn(session.got)).toEqual([404, 404]);
    expect(session.endings).toEqual([]);
  });

  test("closes it where the row says so, without reading the body", () => {
    const session = new ClientSession((ex) => ex.sink.abort(ex, Fault.ChunkedDisabled));
    session.send(`${CHUNKED_HEAD}5\r\nhello\r\n0\r\n\r\n${GOOD}`);
    const [reply, ...others] = repliesIn(session.got);
    expect([reply!.status, reply!.body, others.length]).toEqual([
      501,
      "Inbound chunked transfer encoding is disabled",
      0,
    ]);
    expect(session.handled).toEqual(["/up"]);
    expect(session.endings).toEqual(["shutdown"]);
  });

  test("is cut once its head is out", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send(GOOD + GOOD);
    const ex = late.take();
    session.inTurn(() => {
      beginReply(ex, 100);
      writeReply(ex, "a part");
    });
    session.inTurn(() => ex.sink.abort(ex, Fault.UpstreamUnavailable));
    expect(session.got).toEndWith("a part");
    expect(session.endings).toEqual(["terminate"]);
    expect(session.handled).toEqual(["/good"]);
  });

  test("hears nothing more: a second refusal is nothing", () => {
    const late = new LateAnswers();
    const session = new ClientSession(late.script);
    session.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    const ex = late.take();
    session.inTurn(() => ex.sink.abort(ex, Fault.UpstreamTimeout));
    session.inTurn(() => ex.sink.abort(ex, Fault.UpstreamUnavailable));
    expect(statusesIn(session.got)).toEqual([504]);
    expect(session.ended).toEqual(["/a 504"]);
  });
});
