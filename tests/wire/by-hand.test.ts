// Commands that act on a running gateway, and what of it outlives the process. docs/operations.md#what-outlives-the-process
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { restartGateway, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const [one, two] = [EchoOrigin.start(), EchoOrigin.start()];
const ROUTES = [
  { type: "upstream", prefix: "/pair", targets: [{ url: one.url }, { url: two.url }] },
  upstream("/sole", two),
];
let gateway = await startGateway({ config: { server: { drain_delay: "0s" } }, routes: ROUTES });
afterAll(() => {
  gateway.kill();
  one.stop();
  two.stop();
});

const edge = (...args: string[]) => runEdge(args, {}, gateway.folder);
const status = async (path: string): Promise<number> => (await gateway.once(request(`GET ${path}`))).status;
const write = (routes: unknown): void => writeFileSync(join(gateway.folder, "routes.yaml"), stringify(routes));
const audited = (action: string) =>
  gateway.log(
    `the audit line of ${action}`,
    (line) => line.event === "audit" && line.action === action && line.ok === true,
  );
const respond = (body: string) => [...ROUTES, { type: "respond", path: "/version", body }];
const version = async (): Promise<string> => (await gateway.once(request("GET /version"))).text;
const stateFiles = (): string[] => readdirSync(join(gateway.folder, ".edge-state"));

test("the commands work while both files are wrong, and what they set outlives the process", async () => {
  const routes = readFileSync(join(gateway.folder, "routes.yaml"));
  write([{ type: "upstrem" }]);
  const drained = await edge("drain", two.url, "--json");
  expect([drained.code, JSON.parse(drained.stdout)]).toEqual([
    0,
    { target: two.url, drained: [two.url], without_target: ["/sole"] },
  ]);
  expect(await audited("drain")).toMatchObject({
    target: two.url,
    without_target: ["/sole"],
    from: expect.any(String),
  });
  expect(await status("/sole/x")).toBe(503);
  const on = await edge("maintenance", "on", "--route", "/pair");
  expect([on.code, on.stdout]).toEqual([0, "Maintenance is on for /pair. Under maintenance: /pair.\n"]);
  expect(await status("/pair/x")).toBe(503);
  const shown = await edge("status");
  expect(shown.stdout).toMatch(/set by hand: drained http:\S+ \(\d+s ago\), maintenance on for \/pair \(\d+s ago\)/);
  expect((await edge("top", "--once")).stderr).not.toContain("routes.yaml");
  writeFileSync(join(gateway.folder, "routes.yaml"), routes);

  for (const name of stateFiles()) expect(statSync(join(gateway.folder, ".edge-state", name)).mode & 0o777).toBe(0o600);
  gateway = await restartGateway(gateway);
  expect([await status("/sole/x"), await status("/pair/x")]).toEqual([503, 503]);
  const { operations } = json<{ operations: { set: unknown } }>(
    await gateway.once(request("GET /internal/api/status")),
  );
  expect(operations.set).toEqual([
    { what: "drain", name: two.url, on: true, since: expect.stringMatching(/^\d{4}-/) },
    { what: "maintenance", name: "/pair", on: true, since: expect.stringMatching(/^\d{4}-/) },
  ]);
  expect((await edge("undrain", two.url)).stdout).toBe(`${two.url} is in use again.\n`);
  expect((await edge("maintenance", "off", "--route", "/pair", "--json")).code).toBe(0);
  expect([await status("/sole/x"), await status("/pair/x")]).toEqual([200, 200]);
  expect(stateFiles().some((name) => name.includes("operators"))).toBe(false);
  const none = await edge("drain", "http://192.0.2.1:9");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("404 no route has this target")]);
}, 60_000);

test("a dry run says what a reload would do, not how the files are written, and applies nothing", async () => {
  write(ROUTES.map((route) => ({ ...route, methods: undefined })));
  const same = await edge("reload", "--dry-run");
  expect([same.code, same.stdout]).toEqual([0, "A reload would change nothing. Nothing was applied.\n"]);
  write([
    {
      type: "upstream",
      prefix: "/pair",
      targets: [{ url: one.url, weight: 3 }],
      rate_limit: { requests: 5, window: "1m" },
    },
    { type: "respond", path: "/version", host: "a.test", body: "1" },
  ]);
  const dry = await edge("reload", "--dry-run");
  expect(dry.code).toBe(0);
  expect(dry.stdout).toContain("+ route respond a.test /version\n");
  expect(dry.stdout).toContain("- route upstream /sole\n");
  expect(dry.stdout).toMatch(/~ route upstream \/pair\n/);
  expect(dry.stdout).toMatch(/ {4}rate_limit.*5/);
  expect(dry.stdout).toMatch(/ {4}targets: .*- .*\+ /);
  expect(dry.stdout).toContain("1 entry added, 1 entry removed, 1 entry changed. Nothing was applied.\n");
  expect([await status("/sole/x"), await status("/version")]).toEqual([200, 404]);
  const asJson = JSON.parse((await edge("reload", "--dry-run", "--json")).stdout);
  expect(asJson).toMatchObject({ ok: true, dry_run: true, changes: { omitted: 0, settings: [] } });
  write([{ type: "upstrem" }]);
  const wrong = await edge("reload", "--dry-run");
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('did you mean "upstream"?')]);
  expect(await audited("reload_dry_run")).toMatchObject({ ok: true });
}, 60_000);

test("a rollback brings back what served before, until the files are taken up again", async () => {
  const before = await edge("rollback", "3", "--json");
  expect([before.code, before.stderr]).toEqual([1, expect.stringContaining("kept")]);
  for (const body of ["one", "two", "three"]) {
    write(respond(body));
    expect((await edge("reload")).code).toBe(0);
  }
  write([{ type: "upstrem" }]);
  expect((await edge("reload")).code).toBe(1);
  const back = await edge("rollback");
  expect([back.code, back.stdout]).toEqual([0, expect.stringContaining("Rolled back to the configuration of ")]);
  expect(await version()).toBe("two");
  expect((await edge("rollback")).code).toBe(0);
  expect(await version()).toBe("one");
  expect((await edge("status")).stdout).toMatch(
    /rolled back \d+s ago to the configuration of .*: the files are not in use/,
  );
  expect(await audited("rollback")).toMatchObject({ ok: true, steps: 1, to: expect.stringMatching(/^\d{4}-/) });
  expect(readFileSync(join(gateway.folder, "routes.yaml"), "utf8")).toContain("upstrem");
  // The files are wrong, and as they were at the rollback: a restart serves what was rolled back to.
  gateway = await restartGateway(gateway);
  expect(await version()).toBe("one");
  write(respond("four"));
  gateway = await restartGateway(gateway);
  expect(await version()).toBe("four");
  expect((await edge("rollback")).code).toBe(0);
  expect(await version()).toBe("one");
  expect((await edge("reload")).code).toBe(0);
  expect(await version()).toBe("four");
  for (let n = 0; n < 12; n++) {
    write(respond(`n${n}`));
    expect((await edge("reload")).code).toBe(0);
  }
  expect(stateFiles().filter((name) => name.includes("configuration-"))).toHaveLength(10);
  expect((await edge("rollback", "9")).code).toBe(0);
  expect(await version()).toBe("n2");
  const far = await edge("rollback");
  expect([far.code, far.stderr]).toEqual([1, expect.stringContaining("no configuration is kept")]);
  expect((await edge("rollback", "0")).code).toBe(2);
}, 120_000);

test("a state folder that cannot be written, or holds what no gateway wrote, costs no request", async () => {
  const folder = join(gateway.folder, ".edge-state");
  for (const name of stateFiles()) writeFileSync(join(folder, name), '{"kept": 5}');
  write(respond("whole"));
  gateway = await restartGateway(gateway);
  expect(await version()).toBe("whole");
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "no folder");
  gateway = await restartGateway(gateway);
  expect((await edge("drain", one.url)).code).toBe(0);
  await gateway.log("what cannot be kept", ({ event }) => event === "state_failed");
  write(respond("later"));
  expect((await edge("reload")).code).toBe(0);
  expect((await edge("rollback")).code).toBe(0);
  expect(await version()).toBe("whole");
}, 60_000);
