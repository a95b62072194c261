import { describe, expect, test } from "bun:test";
import {
  MaintenanceSwitches,
  routesInMaintenance,
} from "../../../../../src/features/pages/control/maintenance-switches.ts";
import { configOf } from "../../../loading/any-config.ts";

const ROUTES = `
- {type: respond, path: /a, status: 204}
- {type: respond, path: /b, status: 204, maintenance: false}
- {type: respond, path: /c, status: 204, maintenance: {enabled: false, retry_after: 9s}}
`;
const plain = configOf("", ROUTES);
const down = configOf("server: {maintenance: {retry_after: 90s}}", ROUTES);

function listed(switches: MaintenanceSwitches, config = plain): readonly string[] {
  return routesInMaintenance(switches.applied(config));
}

describe("a switch", () => {
  test("of the server leaves out routes that say no", () => {
    const switches = new MaintenanceSwitches();
    expect(switches.applied(plain)).toBe(plain);
    switches.turn(plain, true, null);
    expect(listed(switches)).toEqual(["/a"]);
    switches.turn(plain, false, null);
    expect(switches.applied(plain)).toBe(plain);
  });

  test("of a route holds over the server's, with what the file says beside it", () => {
    const switches = new MaintenanceSwitches();
    switches.turn(plain, true, "/c");
    expect(listed(switches)).toEqual(["/c"]);
    expect(switches.applied(plain).routes[2]!.maintenance!.retryAfterMs).toBe(9000);
    switches.turn(plain, true, null);
    expect(listed(switches)).toEqual(["/a"]);
    switches.turn(plain, false, "/a");
    expect(listed(switches)).toEqual([]);
  });

  test("ends what the file asks for, and nothing is left of it when the file says the same", () => {
    const switches = new MaintenanceSwitches();
    expect(listed(switches, down)).toEqual(["/a"]);
    switches.turn(down, false, null);
    expect(listed(switches, down)).toEqual([]);
    switches.turn(down, true, null);
    expect(switches.applied(down)).toBe(down);
    switches.turn(down, true, "/b");
    expect(switches.applied(down).routes[1]!.maintenance!.retryAfterMs).toBe(300_000);
  });

  test("can be taken back; of a route that is not there nothing comes", () => {
    const switches = new MaintenanceSwitches();
    const undo = switches.turn(plain, true, null)!;
    undo();
    expect(listed(switches)).toEqual([]);
    expect(switches.turn(plain, true, "/none")).toBeNull();
  });
});
