import { expect, test } from "bun:test";
import { ClientSession } from "./client-session.ts";
import { repliesIn, statusesIn } from "./reply-text.ts";
import { beginReply, ECHO_TARGET, LateAnswers, textReply, writeReply } from "./scripts.ts";

function get(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: a.test\r\n\r\n`;
}

function bodies(text: string): string[] {
  return repliesIn(text).map((reply) => reply.body);
}

test("answers that are ready at once leave together, in order", () => {
  const session = new ClientSession(ECHO_TARGET);
  session.send(["/a", "/b", "/c", "/d"].map(get).join(""));
  expect(bodies(session.got)).toEqual(["/a", "/b", "/c", "/d"]);
  expect(session.socket.writes).toBe(1);
});

test("the next request waits for the answer before it, and the kernel holds what comes meanwhile", () => {
  const late = new LateAnswers();
  const session = new ClientSession(late.script);
  const long = get("/b").replace("\r\n\r\n", `${`\r\nX: ${"x".repeat(8000)}`.repeat(3)}\r\n\r\n`);
  session.send(get("/a") + long + get("/c").slice(0, 10));
  expect(session.handled).toEqual(["/a"]);
  expect(session.socket.isPaused).toBe(true);
  session.inTurn(() => late.answer());
  expect(session.handled).toEqual(["/a", "/b"]);
  // Of a few bytes the connection takes more, so that it sees its end.
  expect(session.socket.isPaused).toBe(false);
  session.inTurn(() => late.answer());
  // The third head is not complete: its rest must be read.
  expect(session.socket.isPaused).toBe(false);
  session.send(get("/c").slice(10));
  session.inTurn(() => late.answer());
  expect(bodies(session.got)).toEqual(["/a", "/b", "/c"]);
});

test("late and ready answers mix in order", () => {
  const late = new LateAnswers();
  const session = new ClientSession((ex) => (ex.request.target() === "/late" ? late.script(ex) : ECHO_TARGET(ex)));
  session.send(get("/a") + get("/late") + get("/b") + get("/late") + get("/c"));
  expect(bodies(session.got)).toEqual(["/a"]);
  session.inTurn(() => late.answer());
  expect(bodies(session.got)).toEqual(["/a", "/late", "/b"]);
  session.inTurn(() => late.answer());
  expect(bodies(session.got)).toEqual(["/a", "/late", "/b", "/late", "/c"]);
});

test("a stream in pieces is not torn by the request behind it", () => {
  const late = new LateAnswers();
  const session = new ClientSession((ex) => (ex.request.target() === "/s" ? late.script(ex) : ECHO_TARGET(ex)));
  session.send(get("/s") + get("/b"));
  const ex = late.take();
  session.inTurn(() => beginReply(ex, 6));
  session.inTurn(() => writeReply(ex, "abc"));
  session.inTurn(() => {
    writeReply(ex, "def");
    ex.sink.end(ex);
  });
  expect(bodies(session.got)).toEqual(["abcdef", "/b"]);
});

test("bodies of pipelined requests go to their own handlers", () => {
  const seen: string[] = [];
  const session = new ClientSession((ex) => {
    let text = "";
    ex.body = {
      onBody: (_ex, bytes, from, to) => {
        text += Buffer.from(bytes.subarray(from, to)).toString("latin1");
      },
      onBodyEnd: () => {
        seen.push(text);
        ex.sink.fixed(ex, textReply(text));
      },
      onBodyFault: () => {},
    };
  });
  const one = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
  const two = "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  session.send(one + two + one);
  session.sendBytewise(two + one);
  expect(seen).toEqual(["hello", "abcde", "hello", "abcde", "hello"]);
  expect(bodies(session.got)).toEqual(seen);
});

test("a client that does not read gets no further answers made", () => {
  const session = new ClientSession((ex) => ex.sink.fixed(ex, textReply("x".repeat(30_000))));
  session.socket.room = 1000;
  session.send(get("/a") + get("/b") + get("/c"));
  session.send(get("/d"));
  const made = session.handled.length;
  session.send(get("/e"));
  expect(session.handled.length).toBe(made);
  expect(session.socket.isPaused).toBe(true);
  session.drain();
  expect(statusesIn(session.got)).toEqual([200, 200, 200, 200, 200]);
  expect(session.handled).toEqual(["/a", "/b", "/c", "/d", "/e"]);
});

test("a bad request behind good ones is answered in its turn, and ends the connection", () => {
  const late = new LateAnswers();
  const session = new ClientSession(late.script);
  session.send(`${get("/a")}BAD\r\n\r\n${get("/never")}`);
  expect(session.got).toBe("");
  session.inTurn(() => late.answer());
  expect(statusesIn(session.got)).toEqual([200, 400]);
  expect(session.handled).toEqual(["/a"]);
  expect(session.endings).toEqual(["shutdown"]);
});

test("every split of a pipelined stream gives the same answers", () => {
  const stream = `${get("/a")}POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nxyz${get("/c")}\r\n${get("/d")}`;
  for (let cut = 1; cut < stream.length; cut++) {
    const session = new ClientSession(ECHO_TARGET);
    session.send(stream.slice(0, cut), stream.slice(cut));
    expect(bodies(session.got)).toEqual(["/a", "/b", "/c", "/d"]);
  }
});
