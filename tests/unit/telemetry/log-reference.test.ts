import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ACCESS_FIELDS, EVENTS, logReference } from "../../../src/cli/log-reference.ts";
import { AccessLog } from "../../../src/features/telemetry/access-log.ts";
import { fakeExchange } from "./exchange-fake.ts";
import { fakeTelemetry, loggedLines, NAMES } from "./telemetry-fake.ts";

test("every field of an access line is explained, in its order", () => {
  const telemetry = fakeTelemetry();
  const ports = {
    clock: telemetry.clock,
    random: () => 0,
    protocolOf: () => "HTTP/1.1",
    cacheOf: () => "",
    names: NAMES,
  };
  new AccessLog(telemetry.batch, 1, ports).onEnd(fakeExchange({ headers: [] }).ex);
  expect(Object.keys(ACCESS_FIELDS)).toEqual(Object.keys(loggedLines(telemetry)[0]!));
});

/** How the source writes an event's name: the calls that log, and the names that are chosen before one. */
const WRITTEN = [
  /\b(?:event|write)\(\s*"([a-z_]+)",/g,
  /\beventLine\([^,]+, "([a-z_]+)"/g,
  /\? "([a-z]+_[a-z]+)" : "([a-z]+_[a-z]+)"/g,
];

test("every event that is written is explained, and no other", () => {
  const src = join(import.meta.dir, "../../../src");
  const files = ["app/*.ts", "features/telemetry/*.ts"].flatMap((pattern) => [...new Bun.Glob(pattern).scanSync(src)]);
  const names = files.flatMap((file) => {
    const text = readFileSync(join(src, file), "utf8");
    return WRITTEN.flatMap((pattern) => [...text.matchAll(pattern)].flatMap((match) => match.slice(1)));
  });
  expect([...new Set(names)].sort()).toEqual(Object.keys(EVENTS).sort());
});

test("the help is a table of both", () => {
  expect(logReference()).toContain("\n  client_ip    the client, ");
  expect(logReference()).toMatch(/\n {2}upstream_failed +no connection to a server/);
});
