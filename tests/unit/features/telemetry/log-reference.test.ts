import { expect, test } from "bun:test";
import { wrappedTable } from "../../../../src/cli/help/wrapped.ts";
import { ACCESS_FIELDS, USUAL_ACCESS_FIELDS } from "../../../../src/features/telemetry/access-fields.ts";
import { AccessLog, linePolicy } from "../../../../src/features/telemetry/access-log.ts";
import { logReference } from "../../../../src/help/log-reference.ts";
import { samePolicy } from "../../../harness/same-policy.ts";
import { fakeExchange } from "./exchange-fake.ts";
import { fakeAccessPorts, fakeTelemetry, loggedLines, USUAL_LINES } from "./telemetry-fake.ts";

test("every field of an access line is explained, in its order", () => {
  const telemetry = fakeTelemetry();
  const ports = fakeAccessPorts(telemetry);
  new AccessLog(samePolicy(linePolicy(USUAL_LINES, telemetry.batch, false, ports)), ports).onEnd(
    fakeExchange({ headers: [] }).ex,
  );
  expect([...USUAL_ACCESS_FIELDS]).toEqual(Object.keys(loggedLines(telemetry)[0]!) as never);
  expect(Object.keys(ACCESS_FIELDS).slice(0, USUAL_ACCESS_FIELDS.length)).toEqual([...USUAL_ACCESS_FIELDS]);
});

test("the help is a table of both", () => {
  expect(logReference(wrappedTable)).toContain("\n  client_ip     The client's address, ");
  expect(logReference(wrappedTable)).toMatch(/\n {2}upstream_failed +An attempt at an upstream has failed/);
});
