// docs/providers.md: routes of a folder.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, runEdge, startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

const says = (prefix: string, body: string, more = ""): string =>
  `- {type: respond, prefix: ${prefix}, body: ${body}${more}}\n`;

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({
    config: {
      providers: {
        directory: { path: "routes.d", hosts: { "team-a.yaml": ["*.a.example"], "team-b/": ["b.example"] } },
      },
    },
    routes: [{ type: "respond", prefix: "/own", body: "own" }],
    files: {
      "routes.d/10-one.yaml": says("/one", "one") + says("/own", "not"),
      "routes.d/deep/two.yml": says("/two", "two"),
      "routes.d/20-late.yaml": says("/one", "late") + says("/late", "late"),
      "routes.d/team-a.yaml": says("/", "team", ", host: www.a.example"),
      "routes.d/.hidden.yaml": says("/hidden", "x"),
      "routes.d/#10-one.yaml": says("/hidden", "x"),
      "routes.d/10-one.yaml~": says("/hidden", "x"),
      "routes.d/.git/x.yaml": says("/hidden", "x"),
    },
  });
});

test("no link, pipe or device in the folder takes anything down: a folder that links lead to again is walked once", async () => {
  for (const name of ["loop", "again", "deep/up"]) symlinkSync(at(""), at(name));
  for (const [name, target] of [
    ["zero.yaml", "/dev/zero"],
    ["gone.yaml", "/nowhere/at/all"],
    ["self.yaml", "self.yaml"],
  ] as const)
    symlinkSync(target, at(name));
  expect(Bun.spawnSync(["mkfifo", at("pipe.yaml")]).exitCode).toBe(0);
  writeFileSync(at("beside.yaml"), says("/beside", "x"));
  await becomes("/beside", "x");
  await gateway.log("self.yaml", ({ event, name }) => event === "route_invalid" && name === at("self.yaml"));
  for (const name of ["loop", "again", "deep/up", "zero.yaml", "gone.yaml", "self.yaml", "pipe.yaml"]) rmSync(at(name));
});
afterAll(() => stopAll(gateway));

test("a folder of a team is bounded as a file is; a link in it to another's folder takes nothing of that", async () => {
  mkdirSync(at("team-b"));
  mkdirSync(at("a-links"));
  symlinkSync("../team-b", at("a-links/all"));
  writeFileSync(at("team-b/shop.yaml"), says("/", "b", ", host: b.example"));
  await becomes("/", "b", "b.example");
  writeFileSync(at("a-links/own.yaml"), says("/linked", "x"));
  writeFileSync(at("team-b/taken.yaml"), says("/", "b", ", host: www.a.example"));
  const line = await gateway.log(
    "taken",
    ({ event, name }) => event === "route_invalid" && name === at("team-b/taken.yaml"),
  );
  expect(String(line.faults)).toContain("b.example alone (providers.directory.hosts)");
  expect([await text("/", "b.example"), await text("/", "www.a.example")]).toEqual(["b", "team"]);
  for (const name of ["a-links", "team-b"]) rmSync(at(name), { recursive: true });
  await becomes("/", "404", "b.example");
});

test("a folder that goes away leaves its last good routes, and a reload takes it up when it is back", async () => {
  renameSync(at(""), `${at("")}-away`);
  gateway.signal("SIGHUP");
  const gone = await gateway.log(
    "gone",
    ({ event, faults }) => event === "route_invalid" && /no such folder/.test(String(faults)),
  );
  expect(gone).toMatchObject({ source: "directory", kept: true });
  expect([await text("/one"), await text("/", "www.a.example")]).toEqual(["one", "team"]);
  renameSync(`${at("")}-away`, at(""));
  writeFileSync(at("back.yaml"), says("/back", "back"));
  gateway.signal("SIGHUP");
  await becomes("/back", "back");
  rmSync(at("back.yaml"));
  await becomes("/back", "404");
});

const at = (name: string): string => join(gateway.folder, "routes.d", name);
async function text(path: string, host = "gw.test"): Promise<string> {
  const reply = await gateway.once(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return reply.status === 200 ? reply.text : String(reply.status);
}
const becomes = (path: string, wanted: string, host?: string) =>
  eventually(async () => expect(await text(path, host)).toBe(wanted));

test("all files are one table: the earlier source and file wins, and the log names the other", async () => {
  expect([
    await text("/own"),
    await text("/one"),
    await text("/late"),
    await text("/two"),
    await text("/hidden"),
  ]).toEqual(["own", "one", "late", "two", "404"]);
  expect(await text("/", "www.a.example")).toBe("team");
  const shadowed = gateway.logs.json.filter(({ event }) => event === "route_shadowed");
  expect(
    shadowed.map(({ source, name, route, by_source, by_name }) => [source, name, route, by_source, by_name]),
  ).toEqual([
    ["directory", at("10-one.yaml"), "/own", "file", "routes.yaml"],
    ["directory", at("20-late.yaml"), "/one", "directory", at("10-one.yaml")],
  ]);
});

test("files that come, change, move and go are taken up without a signal", async () => {
  writeFileSync(at("new.yaml"), says("/new", "a"));
  await becomes("/new", "a");
  writeFileSync(at("new.yaml.tmp"), says("/new", "b"));
  renameSync(at("new.yaml.tmp"), at("new.yaml"));
  await becomes("/new", "b");
  mkdirSync(at("later"));
  writeFileSync(at("later/x.yaml"), says("/later", "l"));
  await becomes("/later", "l");
  rmSync(at("new.yaml"));
  await becomes("/new", "404");
  expect(await text("/later")).toBe("l");
});

test("a link that is switched is taken up, as a mounted ConfigMap is", async () => {
  const mount = at("mount");
  for (const [name, body] of [
    ["v1", "a"],
    ["v2", "b"],
  ] as const) {
    mkdirSync(join(mount, `..${name}`), { recursive: true });
    writeFileSync(join(mount, `..${name}`, "m.yaml"), says("/mount", body));
  }
  symlinkSync("..v1", join(mount, "..data"));
  symlinkSync("..data/m.yaml", join(mount, "m.yaml"));
  await becomes("/mount", "a");
  symlinkSync("..v2", join(mount, "..tmp"));
  renameSync(join(mount, "..tmp"), join(mount, "..data"));
  await becomes("/mount", "b");
});

test("a file that turns faulty keeps its last good routes, and touches no other", async () => {
  writeFileSync(at("bad.yaml"), says("/bad", "good"));
  await becomes("/bad", "good");
  writeFileSync(at("bad.yaml"), "- {type: respond, prefix: /bad, statsu: 200}\n");
  writeFileSync(at("half.yaml"), "- {type: respond, pref");
  const [bad, half] = await Promise.all(
    ["bad.yaml", "half.yaml"].map((name) =>
      gateway.log(name, ({ event, name: file }) => event === "route_invalid" && file === at(name)),
    ),
  );
  expect(bad).toMatchObject({ source: "directory", kept: true });
  expect(String(bad!.faults)).toContain(`bad.yaml:1:33: routes[0].statsu: unknown key (did you mean "status"?)`);
  expect(half).toMatchObject({ kept: false });
  expect([await text("/bad"), await text("/one")]).toEqual(["good", "one"]);
  rmSync(at("half.yaml"));
  writeFileSync(at("bad.yaml"), says("/bad", "better"));
  await becomes("/bad", "better");
});

test("a file that is bounded to hosts takes no other", async () => {
  for (const wrong of [says("/", "x"), says("/", "x", ", host: b.example"), says("/", "x", ", host: a.example")]) {
    const before = gateway.logs.json.length;
    writeFileSync(at("team-a.yaml"), wrong);
    const line = await gateway.log(
      wrong,
      (one) =>
        one.event === "route_invalid" && gateway.logs.json.indexOf(one) >= before && one.name === at("team-a.yaml"),
    );
    expect(String(line.faults)).toContain("*.a.example alone (providers.directory.hosts)");
    expect(await text("/", "www.a.example")).toBe("team");
  }
});

test("a reload takes all of it up again; edge check names each fault, and unwatched ones refuse the start", async () => {
  writeFileSync(at("odd.yaml"), "- {type: respond}\n");
  await gateway.log("odd.yaml", ({ event, name }) => event === "route_invalid" && name === at("odd.yaml"));
  expect((await gateway.reload()).ok).toBe(true);
  expect(await text("/one")).toBe("one");
  const check = await runEdge(["check"], {}, gateway.folder);
  expect([check.code, check.stderr]).toEqual([
    1,
    expect.stringContaining("odd.yaml:1:3: routes[0]: a route needs prefix or path"),
  ]);
  const strict = "server: {port: 1}\nproviders: {directory: {path: routes.d, watch: false}}\n";
  writeFileSync(join(gateway.folder, "strict.yaml"), strict);
  const start = await runEdge(["serve", "-c", "strict.yaml"], {}, gateway.folder);
  expect([start.code, start.stderr]).toEqual([
    1,
    expect.stringContaining("odd.yaml:1:3: routes[0]: a route needs prefix or path"),
  ]);
  writeFileSync(join(gateway.folder, "none.yaml"), "providers: {directory: {path: ./nowhere}}\n");
  const none = await runEdge(["check", "-c", "none.yaml"], {}, gateway.folder);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("providers.directory.path: no such folder")]);
});
