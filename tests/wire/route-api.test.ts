// docs/providers.md#api
import { afterAll, expect, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { restartGateway, runEdge, startGateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";

const LIST = "/internal/api/config/routes";
const origin = EchoOrigin.start();
let gateway = await startGateway({
  config: {
    server: { drain_delay: "0s", waf: { enabled: true, mode: "enforce" } },
    providers: { directory: { path: "routes.d" } },
  },
  routes: [
    { type: "respond", prefix: "/own", body: "own" },
    { type: "respond", prefix: "/", host: "taker.test", body: "taken" },
    { type: "respond", regex: "^/internal/.*", host: "taker.test", body: "taken" },
  ],
  files: { "routes.d/team.yaml": "- {type: respond, prefix: /team, body: team}\n" },
});
afterAll(() => {
  gateway.kill();
  origin.stop();
});

type Fields = readonly string[];
const call = (start: string, body?: string, fields: Fields = []) =>
  gateway.once(request(start, ["Host: localhost", ...fields], body));
const put = (name: string, body: string, fields: Fields = []) => call(`PUT ${LIST}/${name}`, body, fields);
const text = async (path: string): Promise<string> => {
  const reply = await call(`GET ${path}`);
  return reply.status === 200 ? reply.text : String(reply.status);
};
const edge = (...args: string[]) => runEdge(args, {}, gateway.folder);
const audits = () => gateway.logs.json.filter(({ event }) => event === "audit");
const says = (prefix: string, body: string) => `type: respond\nprefix: ${prefix}\nbody: ${body}\n`;

test("a route is put, read, changed by one operator at a time, and removed", async () => {
  const first = await put("shop", says("/shop", "one"));
  expect([first.status, json(first)]).toEqual([
    200,
    { ok: true, name: "shop", faults: [], etag: expect.any(String), generation: 2, kept: true },
  ]);
  const etag = first.fields.get("etag")!;
  expect(await text("/shop")).toBe("one");
  const read = await call(`GET ${LIST}/shop`);
  expect([read.fields.get("etag"), json(read)]).toEqual([etag, { type: "respond", prefix: "/shop", body: "one" }]);
  expect((await call(`GET ${LIST}/shop`, undefined, ["Accept: application/yaml"])).text).toBe(says("/shop", "one"));
  // Two operators have read the same: one of them changes it.
  const bodies = ["two", "three"].map((body) => JSON.stringify({ type: "respond", prefix: "/shop", body }));
  const both = await Promise.all(bodies.map((body) => put("shop", body, [`If-Match: ${etag}`])));
  expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  const won = both[0]!.status === 200 ? "two" : "three";
  expect(await text("/shop")).toBe(won);
  expect((await put("shop", says("/shop", "x"), ["If-None-Match: *"])).status).toBe(412);
  expect((await call(`DELETE ${LIST}/shop`, undefined, [`If-Match: ${etag}`])).status).toBe(412);
  expect((await call(`DELETE ${LIST}/shop`)).status).toBe(200);
  expect([await text("/shop"), (await call(`GET ${LIST}/shop`)).status]).toEqual(["404", 404]);
  expect(audits().map(({ action, ok, name, from }) => [action, ok, name, from])).toEqual([
    ["route_put", true, "shop", "127.0.0.1"],
    ["route_put", true, "shop", "127.0.0.1"],
    ["route_delete", true, "shop", "127.0.0.1"],
  ]);
});

test("a refused change is 422 with the faults of edge check, and changes nothing", async () => {
  await put("good", says("/good", "good"));
  const before = await text("/good");
  const wrong: [body: string, fault: string][] = [
    ["type: respond\nprefix: /good\nstatsu: 200\n", 'good:3:1: routes[0].statsu: unknown key (did you mean "status"?)'],
    ["type: upstrem\nprefix: /good\n", "good:1:7"],
    ["{", "good:1:"],
    ["", "the file is empty"],
    ["- {type: respond, path: /a, body: a}\n- {type: respond, path: /b, body: b}\n", "expected one route, found 2"],
    ["7", "expected a route"],
    ["type: tcp\nlisten: 127.0.0.1:1\ntarget: tcp://127.0.0.1:1\n", "stands in routes.yaml alone"],
    ["routes: []\n", "good:1:1"],
    ["type: respond\nprefix: /x\nbody: \ufffd\n", "the text is no UTF-8"],
    [`{${Array.from({ length: 25_001 }, (_, i) => `"k${i}":1`).join(",")}}`, "more than 50000 colons"],
  ];
  for (const [body, fault] of wrong)
    for (const query of ["", "?dry_run=1"]) {
      const reply = await put(`good${query}`, body);
      expect([reply.status, reply.text]).toEqual([422, expect.stringContaining(JSON.stringify(fault).slice(1, -1))]);
    }
  expect([await text("/good"), await text("/own")]).toEqual([before, "own"]);
  expect(audits().at(-1)).toMatchObject({ action: "route_put", ok: false, name: "good" });
  expect(gateway.logs.json.filter(({ event, ok }) => event === "config_reload" && ok === false)).toEqual([]);
});

test("names and bodies that are none, and a query that is none", async () => {
  for (const name of ["a/b", "a%2Fb", "%2e%2e%2fx", "a%20b", "x".repeat(129), "a;b", ""])
    expect([400, 403, 404, 405]).toContain((await put(name, says("/x", "x"))).status);
  expect((await put("large", `# ${"x".repeat(1_048_576)}`)).status).toBe(413);
  expect((await put("x?dry=1", says("/x", "x"))).status).toBe(400);
  expect((await call(`PATCH ${LIST}/good`, "{}")).status).toBe(404);
  expect((await call(`POST ${LIST}/good`, "{}")).status).toBe(405);
  expect((await call(`DELETE ${LIST}/none`)).status).toBe(404);
});

test("no route takes the endpoint's place; those who are no operators get nothing", async () => {
  const reply = await gateway.once(request(`GET ${LIST}/good`, ["Host: taker.test"]));
  expect(json(reply)).toMatchObject({ body: "good" });
  expect((await gateway.once(request(`GET ${LIST}/good`, ["Host: shop.com"]))).status).toBe(403);
  expect((await call(`GET ${LIST}/good`, undefined, ["Origin: https://evil.example"])).status).toBe(403);
  expect((await put("x", says("/x", "x"), ["X-Forwarded-For: 192.0.2.1"])).status).toBe(403);
});

test("a caller whom only the machine vouches for names no files, sockets, variables and secrets", async () => {
  const confined = [
    "type: static\nprefix: /etc\ndir: /etc\n",
    "type: function\nprefix: /run\nmodule: ./x.ts\n",
    "type: upstream\nprefix: /docker\ntarget: unix:/var/run/docker.sock\n",
    "type: respond\nprefix: /env\nbody: ${HOME}\n",
    "type: respond\nprefix: /file\nbody: ${file:/etc/hostname}\n",
  ];
  for (const body of confined) {
    const reply = await put("confined", body);
    expect([body, reply.status]).toEqual([body, 422]);
    expect(reply.text).toMatch(/names a file, a folder or a socket|HOME|read in config.yaml and routes.yaml alone/);
  }
});

test("a dry run shows the difference; the earlier source wins, and the answer says so", async () => {
  const dry = await put("team?dry_run=1", says("/team", "mine"));
  expect(json(dry)).toMatchObject({ ok: true, dry_run: true, shadowed_by: [{ source: "directory" }] });
  const tried = json<{ changes: { routes: object[] } }>(await put("new?dry_run=1", says("/new", "x")));
  expect(tried.changes.routes).toMatchObject([{ change: "added", path: "/new" }]);
  expect([await text("/new"), (await call(`GET ${LIST}/new`)).status]).toEqual(["404", 404]);
  await put("team", says("/team", "mine"));
  expect(await text("/team")).toBe("team");
  const list = await edge("routes", "list");
  expect(list.stdout).toMatch(/^file +routes.yaml +respond +\* +\/own$/m);
  expect(list.stdout).toMatch(/^directory +\S+team.yaml +respond +\* +\/team$/m);
  expect(list.stdout).toMatch(/^api +good +respond +\* +\/good$/m);
  expect(list.stdout).toMatch(/^shadowed: api team \* \/team: directory \S+team.yaml serves$/m);
  await gateway.log(
    "the shadow",
    ({ event, source, by_source }) => event === "route_shadowed" && source === "api" && by_source === "directory",
  );
  const { routes } = json<{ routes: object[] }>(await call("GET /internal/api/routes"));
  expect(routes).toContainEqual(expect.objectContaining({ prefix: "/good", source: "api", source_name: "good" }));
  // The file goes: the route of the API serves.
  writeFileSync(join(gateway.folder, "routes.d/team.yaml"), "[]\n");
  await eventually(async () => expect(await text("/team")).toBe("mine"));
});

test("edge explain --live knows routes of the API, and says from where its table comes", async () => {
  expect((await put("live", says("/live", "secret"))).status).toBe(200);
  const [here, live] = [await edge("explain", "/live/a"), await edge("explain", "--live", "/live/a")];
  expect([here.code, here.stdout.includes("respond")]).toEqual([0, false]);
  expect([live.code, live.stderr]).toEqual([0, expect.stringMatching(/: 3 of file, \d+ of api\n$/)]);
  expect(live.stdout).toMatch(/^route +\/live +respond, api live/m);
  const shown = JSON.parse((await edge("explain", "--live", "--json", "POST /live", "-H", "X-A: b")).stdout);
  expect([shown.route.route, shown.response.status, shown.response.body]).toEqual(["/live", 200, ""]);
  const asked = (body: object) =>
    call("POST /internal/api/explain", JSON.stringify(body), ["Content-Type: application/json"]);
  for (const body of [
    {},
    { request: 1 },
    { request: "/a", other: 1 },
    { request: "/a", headers: [1] },
    { request: "/a", http: 4 },
  ])
    expect((await asked(body)).status).toBe(400);
  expect((await asked({ request: `/${"a".repeat(5000)}` })).status).toBe(413);
  expect((await edge("explain", "--live", "--listener", "nope", "/a")).code).toBe(1);
  expect((await call("DELETE " + LIST + "/live")).status).toBe(200);
});

test("weights move the requests from blue to green", async () => {
  const [blue, green] = [EchoOrigin.start(), EchoOrigin.start()];
  const route = `# blue and green\ntype: upstream\nprefix: /bg\ntargets:\n  - url: ${blue.url}\n  - {url: ${green.url}, weight: 0}\n`;
  writeFileSync(join(gateway.folder, "bg.yaml"), route);
  const done = await edge("routes", "put", "bg.yaml");
  expect([done.code, done.stdout, done.stderr]).toEqual([0, "bg serves.\n", ""]);
  const used = async (): Promise<unknown> => {
    const { routes } = json<{ routes: { prefix?: string; targets?: { weight: number }[] }[] }>(
      await call("GET /internal/api/routes"),
    );
    return routes.find(({ prefix }) => prefix === "/bg")?.targets?.map(({ weight }) => weight);
  };
  expect(await used()).toEqual([1, 0]);
  const moved = await edge("routes", "weights", "bg", `${blue.url}=0`, `${green.url}/=3`);
  expect([moved.code, moved.stdout]).toEqual([0, "bg has these weights.\n"]);
  expect(await used()).toEqual([0, 3]);
  expect((await edge("routes", "show", "bg")).stdout).toStartWith("# blue and green\n");
  for (const weights of [
    { [green.url]: 0 },
    { "http://127.0.0.1:1": 1 },
    { [green.url]: -1 },
    { [green.url]: 1.5 },
    { [green.url]: "2" },
    { [green.url]: null },
  ]) {
    const reply = await call(`PATCH ${LIST}/bg/weights`, JSON.stringify(weights));
    expect([weights, reply.status]).toEqual([weights, 422]);
  }
  for (const body of ["", "[]", "{}", "{"]) expect((await call(`PATCH ${LIST}/bg/weights`, body)).status).toBe(400);
  expect((await call(`PATCH ${LIST}/good/weights`, '{"http://127.0.0.1:1": 1}')).status).toBe(422);
  expect((await call(`PATCH ${LIST}/none/weights`, '{"http://127.0.0.1:1": 1}')).status).toBe(404);
  expect(await used()).toEqual([0, 3]);
  blue.stop();
  green.stop();
});

test("routes outlive reload, restart and upgrade, in files of mode 0600; a faulty one is left out alone", async () => {
  expect((await gateway.reload()).ok).toBe(true);
  expect(await text("/good")).toBe("good");
  const state = join(gateway.folder, ".edge-state");
  for (const name of readdirSync(state)) expect(statSync(join(state, name)).mode & 0o777).toBe(0o600);
  gateway = await restartGateway(gateway);
  expect([await text("/good"), await text("/team")]).toEqual(["good", "mine"]);
  const shown = JSON.parse((await edge("routes", "show", "good", "--json")).stdout);
  expect(shown).toEqual({
    name: "good",
    etag: expect.any(String),
    route: { type: "respond", prefix: "/good", body: "good" },
  });
  gateway.signal("SIGUSR2");
  await gateway.log("upgrade", ({ event, ok }) => event === "upgrade" && ok === true);
  expect(await text("/good")).toBe("good");
  const gone = await edge("routes", "rm", "good", "--if-match", shown.etag);
  expect([gone.code, gone.stdout, gone.stderr]).toEqual([0, "good is removed.\n", ""]);
  // The old process may accept connections for a moment yet.
  await eventually(async () => expect(await text("/good")).toBe("404"));
  const wrong = await edge("routes", "put", "a/b", "bg.yaml");
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("a name has letters")]);
});
