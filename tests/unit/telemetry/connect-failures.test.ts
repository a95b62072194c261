import { expect, test } from "bun:test";
import { CONNECT_FAILURE_LOG_MS, MAX_LOGGED_ORIGINS } from "../../../src/core/limits.ts";
import { ConnectFailures } from "../../../src/features/telemetry/connect-failures.ts";
import { fakeTelemetry, loggedLines } from "./telemetry-fake.ts";

function setUp() {
  const telemetry = fakeTelemetry();
  return { telemetry, failures: new ConnectFailures(telemetry.batch, telemetry.clock) };
}

test("one line an origin and reason in a while; the next one tells of the gap", () => {
  const { telemetry, failures } = setUp();
  for (let i = 0; i < 1000; i++) failures.failed("http://a", "ECONNREFUSED");
  failures.failed("http://a", "timeout");
  failures.failed("http://b", "ECONNREFUSED");
  telemetry.clock.nowMs += CONNECT_FAILURE_LOG_MS;
  failures.failed("http://a", "ECONNREFUSED");
  failures.failed("http://b", "ECONNREFUSED");
  const lines = loggedLines(telemetry).map(({ event, upstream, reason, not_logged }) => ({
    event,
    upstream,
    reason,
    not_logged,
  }));
  const event = "upstream_failed";
  expect(lines).toEqual([
    { event, upstream: "http://a", reason: "ECONNREFUSED", not_logged: undefined },
    { event, upstream: "http://a", reason: "timeout", not_logged: undefined },
    { event, upstream: "http://b", reason: "ECONNREFUSED", not_logged: undefined },
    { event, upstream: "http://a", reason: "ECONNREFUSED", not_logged: 999 },
    { event, upstream: "http://b", reason: "ECONNREFUSED", not_logged: undefined },
  ]);
});

test("a clock that is set back does not silence it", () => {
  const { telemetry, failures } = setUp();
  failures.failed("http://a", "ECONNREFUSED");
  telemetry.clock.nowMs -= 86_400_000;
  failures.failed("http://a", "ECONNREFUSED");
  failures.failed("http://a", "ECONNREFUSED");
  expect(loggedLines(telemetry)).toHaveLength(2);
});

test("origins without end, named by clients, are forgotten one after the other", () => {
  const { telemetry, failures } = setUp();
  for (let i = 0; i <= MAX_LOGGED_ORIGINS; i++) failures.failed(`http://h${i}`, "ENOTFOUND");
  failures.failed("http://h0", "ENOTFOUND");
  failures.failed(`http://h${MAX_LOGGED_ORIGINS}`, "ENOTFOUND");
  expect(loggedLines(telemetry)).toHaveLength(MAX_LOGGED_ORIGINS + 2);
});
