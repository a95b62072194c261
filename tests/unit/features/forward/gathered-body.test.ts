import { afterEach, beforeEach, expect, test } from "bun:test";
import { statusesIn } from "../../edge/reply-text.ts";
import { takenOf } from "../ingest/body-route.ts";
import { FakeConnect } from "./fake-connect.ts";
import { ForwardSession } from "./forward-session.ts";
import { gathering } from "./gathering.ts";

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

let connect: FakeConnect;
beforeEach(() => {
  connect = new FakeConnect();
});
afterEach(() => connect.restore());

/** What the origin gets of a chunked request. */
function forwarded(lines: string, ...pieces: readonly string[]): string {
  const { budget, phases } = gathering();
  const session = new ForwardSession([81], {}, phases);
  session.client.send(`POST /a HTTP/1.1\r\nHost: a.test\r\n${lines}Transfer-Encoding: chunked\r\n\r\n`);
  for (const piece of pieces) {
    expect(connect.attempts.length).toBe(0);
    session.client.send(piece);
  }
  const origin = connect.last.open().send(OK);
  expect([statusesIn(session.client.got).at(-1), takenOf(budget)]).toEqual([200, 0]);
  return origin.got;
}

test("a gathered body goes on with its exact length, once it is complete", () => {
  const text = forwarded("", "5;x=y\r\nhello\r\n", "6\r\n world\r\n0\r\n", "\r\n");
  expect(text).toContain("\r\nContent-Length: 11\r\n");
  expect(text).not.toContain("chunked");
  expect(text).toEndWith("\r\n\r\nhello world");
});

test("an empty one has length 0", () => {
  expect(forwarded("", "0\r\n\r\n")).toContain("\r\nContent-Length: 0\r\n");
});

test("its trailers go on as fields", () => {
  const text = forwarded("", "1\r\na\r\n0\r\nX-T: y\r\nX-U:  z \r\n\r\n");
  expect(text).toContain("\r\nX-T: y\r\nX-U: z\r\n");
});

test("its trailers overrule nothing that the gateway says", () => {
  const text = forwarded("X-User: a\r\n", "0\r\nX-Request-Id: claimed\r\nx_user: b\r\nOrigin: c\r\n\r\n");
  expect(text).not.toContain("claimed");
  expect(text).not.toContain("x_user");
  expect(text).not.toContain("Origin");
});

// RFC 9110 §7.6.1: what Connection names is for this hop, wherever it stands in the message.
test("a trailer that Connection names does not go on", () => {
  expect(forwarded("Connection: X-T\r\n", "0\r\nX-T: y\r\n\r\n")).not.toContain("X-T");
});

test("the client is asked for it before an origin is sought", () => {
  const { phases } = gathering();
  const session = new ForwardSession([81], {}, phases);
  session.client.send("POST /a HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
  expect([statusesIn(session.client.got), connect.attempts.length]).toEqual([[100], 0]);
});
