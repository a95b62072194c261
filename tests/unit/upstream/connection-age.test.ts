import { afterEach, beforeEach, expect, test } from "bun:test";
import { MAX_UPSTREAM_CONNECTION_MS } from "../../../src/upstream/limits.ts";
import { FakeConnect } from "../features/forward/fake-connect.ts";
import { ForwardSession } from "../features/forward/forward-session.ts";

const GET = "GET /a HTTP/1.1\r\nHost: a.test\r\n\r\n";
const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const STEP_MS = MAX_UPSTREAM_CONNECTION_MS / 10;

let connect: FakeConnect;
beforeEach(() => {
  connect = new FakeConnect();
});
afterEach(() => connect.restore());

test("a connection that is always busy ends between two exchanges when it is old, and a new one is made", () => {
  const session = new ForwardSession();
  const made: number[] = [];
  for (let step = 0; step <= 11; step++) {
    const before = connect.attempts.length;
    session.client.send(GET);
    if (connect.attempts.length > before) connect.last.open();
    connect.last.send(OK);
    made.push(connect.attempts.length);
    session.client.wait(STEP_MS);
  }
  // Its age is drawn from the last fifth, so it ends behind the exchange of one of the steps 8 to 10.
  expect(made.slice(0, 8)).toEqual(Array.from({ length: 8 }, () => 1));
  expect(made.at(-1)).toBe(2);
  expect(session.client.ended).toEqual(Array.from({ length: 12 }, () => "/a 200"));
});
