import { expect, test } from "bun:test";
import { logReference } from "../../../../src/app/log-reference.ts";
import { ACCESS_FIELDS, AccessLog } from "../../../../src/features/telemetry/access-log.ts";
import { fakeExchange } from "./exchange-fake.ts";
import { fakeTelemetry, loggedLines, NAMES } from "./telemetry-fake.ts";

test("every field of an access line is explained, in its order", () => {
  const telemetry = fakeTelemetry();
  const ports = {
    clock: telemetry.clock,
    random: () => 0,
    protocolOf: () => "HTTP/1.1",
    cacheOf: () => "",
    namesUsers: true,
    countryOf: () => "DE",
    names: NAMES,
  };
  new AccessLog(telemetry.batch, 1, ports).onEnd(fakeExchange({ headers: [] }).ex);
  expect(Object.keys(ACCESS_FIELDS)).toEqual(Object.keys(loggedLines(telemetry)[0]!));
});

test("the help is a table of both", () => {
  expect(logReference()).toContain("\n  client_ip    The client's address, ");
  expect(logReference()).toMatch(/\n {2}upstream_failed +No connection to an upstream/);
});
