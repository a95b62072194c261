// docs/providers.md#consul, #etcd and #nomad, on servers that speak as these do.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, restartGateway, startGateway } from "../harness/gateway.ts";
import { LiveStream } from "../harness/live-stream.ts";
import { longTest } from "../harness/long-lane.ts";
import { json, request } from "../harness/raw-client.ts";
import { CatalogServer, KeyServer } from "../harness/store-servers.ts";

// Restarts of the gateway and pauses of the stores.
setDefaultTimeout(30_000);

const [consul, nomad, etcd] = await Promise.all([
  new CatalogServer().open(),
  new CatalogServer().open(),
  new KeyServer().open(),
]);
etcd.password = "pass-of-etcd";
const [one, two] = [EchoOrigin.start(), EchoOrigin.start()];
one.otherwise((call) => call.reply("200 OK", [], "one"));
two.otherwise((call) => call.reply("200 OK", [], "two"));

const LOCAL = "127.0.0.1";
const tagged = (name: string, keys: Readonly<Record<string, string>>): string[] => [
  "edge.enable=true",
  "plain",
  ...Object.entries(keys).map(([key, value]) => `edge.routes.${name}.${key}=${value}`),
];
const route = (host: string, body: string): string => `{type: respond, host: ${host}, prefix: /, body: ${body}}`;

consul.register("shop-1", {
  service: "shop",
  tags: tagged("shop", { host: "shop.test" }),
  address: LOCAL,
  port: one.port,
});
etcd.put("/edge/routes/b", route("b.test", "b"));
etcd.put("/edge/routes/a", `[${route("a.test", "a")}, ${route("a2.test", "a2")}]`);
etcd.put("/edge/routes/team-a/x", route("x.a.test", "x"));
etcd.put("/edge/other", route("outside.test", "outside"));

const build = { binary: binaryWithHooks(), env: { EDGE_TEST_STORE_PAUSE_MS: "100" } };
const config = {
  providers: {
    consul: { endpoint: consul.url, token: "token-of-consul", datacenter: "dc1", trusted: true },
    nomad: { endpoint: nomad.url, namespace: "*", hosts: { "default/bound": ["*.bound.test"] } },
    etcd: { endpoints: [etcd.url], user: "edge", password: "pass-of-etcd", hosts: { "team-a": ["*.a.test"] } },
  },
};
let gateway = await startGateway({
  ...build,
  config,
  routes: [{ type: "respond", prefix: "/", host: "owned.test", body: "owned" }],
  files: { secret: "hidden" },
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([consul.close(), nomad.close(), etcd.close()]);
  one.stop();
  two.stop();
});

async function text(host: string, path = "/"): Promise<string> {
  const response = await gateway.once(request(`GET ${path}`, [`Host: ${host}`]));
  return response.status === 200 ? response.text : String(response.status);
}
const becomes = (wanted: string, ...at: Parameters<typeof text>) =>
  eventually(async () => expect(await text(...at)).toBe(wanted));
const events = (name: string) => gateway.logs.json.filter(({ event }) => event === name);
const said = (name: string, words: string) =>
  eventually(() => {
    const found = events(name).filter((line) => JSON.stringify(line).includes(words));
    expect([words, found.length]).toEqual([words, 1]);
    return found[0]!;
  });
const listed = async () =>
  (
    json(await gateway.once(request("GET /internal/api/config/routes", ["Host: localhost"]))) as {
      routes: { source: string; name: string; host: string[] }[];
    }
  ).routes.map(({ source, name, host }) => `${source} ${name} ${host.join()}`);

test("a route from before the start serves the first request; the questions show the token and go to the datacenter", async () => {
  expect(await Promise.all([text("shop.test"), text("a.test"), text("a2.test"), text("b.test")])).toEqual([
    "one",
    "a",
    "a2",
    "b",
  ]);
  expect([await text("x.a.test"), await text("outside.test")]).toEqual(["x", "404"]);
  expect(await listed()).toEqual(
    expect.arrayContaining([
      "consul shop (shop) shop.test",
      "etcd /edge/routes/b b.test",
      "etcd /edge/routes/team-a/x x.a.test",
    ]),
  );
  expect(
    consul.seen.every(
      ({ path, headers }) => headers["x-consul-token"] === "token-of-consul" && /[?&]dc=dc1/.test(path),
    ),
  ).toBe(true);
  // No secret of a store is in the log.
  expect(JSON.stringify(gateway.logs.json)).not.toMatch(/token-of-consul|pass-of-etcd/);
});

test("only passing instances of a service are its targets; another service with the same name of a route is not one of them", async () => {
  const tags = tagged("shop", { host: "shop.test" });
  consul.register("shop-2", { service: "shop", tags, address: LOCAL, port: two.port, status: "critical" });
  consul.register("thief", { service: "thief", tags, address: LOCAL, port: two.port });
  consul.register("proxy", { service: "shop", tags, address: LOCAL, port: two.port, kind: "connect-proxy" });
  await gateway.log(
    "shadowed",
    ({ event, source, name }) => event === "route_shadowed" && source === "consul" && name === "shop (thief)",
  );
  const some = async (): Promise<string[]> => [
    ...new Set(await Promise.all([1, 2, 3, 4].map(() => text("shop.test")))),
  ];
  expect(await some()).toEqual(["one"]);
  consul.register("shop-2", { service: "shop", tags, address: LOCAL, port: two.port });
  await eventually(async () => expect((await some()).sort()).toEqual(["one", "two"]));
  consul.register("shop-1", { service: "shop", tags, address: LOCAL, port: one.port, status: "warning" });
  await eventually(async () => expect(await some()).toEqual(["two"]));
  for (const id of ["shop-2", "thief", "proxy"]) consul.remove(id);
  await becomes("404", "shop.test");
  consul.register("shop-1", { service: "shop", tags, address: LOCAL, port: one.port });
  await becomes("one", "shop.test");
});

test("tags of Traefik, of Consul and Nomad", async () => {
  const tags = [
    "traefik.enable=true",
    "traefik.http.routers.t.rule=Host(`t.test`) && PathPrefix(`/api`)",
    "traefik.http.routers.t.middlewares=strip@consulcatalog",
    "traefik.http.middlewares.strip.stripprefix.prefixes=/api",
  ];
  consul.register("t-1", { service: "t", tags, address: LOCAL, port: one.port });
  nomad.register("n-1", { service: "n", tags: ["traefik.enable=true"], address: "10.255.0.1", port: 80 });
  nomad.register("n-2", {
    service: "plain",
    tags: ["edge.enable=true"],
    address: "10.255.0.1",
    port: 80,
    namespace: "shop",
  });
  await becomes("one", "t.test", "/api/x");
  expect(one.requests.at(-1)!.target).toBe("/x");
  await eventually(async () =>
    expect(await listed()).toEqual(expect.arrayContaining(["nomad plain (plain) plain.localhost"])),
  );
});

test("tags and values that are forbidden or faulty leave their route out, in one event with its cure, and touch no other", async () => {
  const bad: [name: string, keys: Record<string, string>, address: string, event: string, words: string][] = [
    ["own", { host: "own.test" }, "127.0.0.1", "label_ignored", "127.0.0.1 is an address of this machine"],
    ["mapped", { host: "mapped.test" }, "::ffff:7f00:1", "label_ignored", "::ffff:7f00:1 is an address of this"],
    ["link", { host: "link.test" }, "169.254.169.254", "label_ignored", "169.254.169.254 is an address of this"],
    ["named", { host: "named.test" }, "localhost", "label_ignored", "localhost is no IP address"],
    ["stolen", { host: "owned.test", prefix: "/x" }, "10.255.0.1", "route_invalid", "owned.test belongs to"],
    ["bound", { host: "free.test" }, "10.255.0.1", "route_invalid", "providers.nomad.hosts"],
    ["users", { host: "u.test", "auth.basic.users_file": "secret" }, "10.255.0.1", "route_invalid", "auth.basic"],
    [
      "env",
      { host: "env.test", "headers.response.set.X": "${HOME}" },
      "10.255.0.1",
      "route_invalid",
      "edge.routes.env",
    ],
    [
      "new",
      { host: "new.test", "canary.target": "http://127.0.0.1:1" },
      "10.255.0.1",
      "label_ignored",
      "routes.new.canary",
    ],
    [
      "copy",
      { host: "copy.test", "mirror.target": "http://127.0.0.1:1" },
      "10.255.0.1",
      "label_ignored",
      "routes.copy.mirror",
    ],
    ["aim", { host: "aim.test", target: "http://10.0.0.1" }, "10.255.0.1", "label_ignored", "edge.routes.aim.target"],
  ];
  for (const [name, keys, address] of bad)
    nomad.register(name, { service: name, tags: tagged(name, keys), address, port: 80 });
  nomad.register("fine", {
    service: "fine",
    tags: tagged("f", { host: "fine.test" }),
    address: "10.255.0.1",
    port: 80,
  });
  for (const [name, keys, , event, words] of bad) {
    expect(await said(event, words)).toMatchObject({ source: "nomad" });
    expect([name, await text(keys.host!, keys.prefix)]).toEqual([name, name === "stolen" ? "owned" : "404"]);
  }
  expect(await listed()).toContain("nomad f (fine) fine.test");
});

test("a faulty value of etcd is named once with its cure, and touches no other", async () => {
  const values: [key: string, value: string, words: string][] = [
    ["half", '{"type": "respond", "host": "half.test", ', "etcd half"],
    ["number", "7", "number"],
    ["file", "{type: static, host: file.test, prefix: /, dir: .}", "providers.etcd.trusted"],
    ["guest", route("owned.test", "stolen").replace("prefix: /", "prefix: /y"), "give the route another host"],
    ["team-a/y", route("b.test", "y").replace("prefix: /", "prefix: /z"), "providers.etcd.hosts"],
    ["long", `# ${"x".repeat(1_100_000)}`, "divide it among several keys"],
    ["bomb", `a: &a [1,1]\n${"b: &b [*a,*a,*a,*a]\n".repeat(3)}`, "/edge/routes/bomb"],
  ];
  for (const [key, value, words] of values) {
    etcd.put(`/edge/routes/${key}`, value);
    expect(await said("route_invalid", words === "etcd half" ? "/edge/routes/half" : words)).toMatchObject({
      source: "etcd",
      name: `/edge/routes/${key}`,
      kept: false,
    });
  }
  expect([await text("owned.test", "/y"), await text("a.test"), await text("shop.test")]).toEqual([
    "owned",
    "a",
    "one",
  ]);
  // A value that turns faulty keeps its last good route.
  etcd.put("/edge/routes/b", "{type: respond, host:");
  expect(
    await gateway.log("kept", ({ event, name }) => event === "route_invalid" && name === "/edge/routes/b"),
  ).toMatchObject({ kept: true });
  expect(await text("b.test")).toBe("b");
  etcd.put("/edge/routes/b", route("b.test", "b2"));
  await becomes("b2", "b.test");
  etcd.remove("/edge/routes/team-a/x");
  await becomes("404", "x.a.test");
});

test("stores that go away, or say nonsense, cost no route; changes of the meantime are caught up, and a restart needs none of them", async () => {
  await Promise.all([consul.close(), etcd.close()]);
  for (const source of ["consul", "etcd"])
    await gateway.log("away", (line) => line.event === "provider_unavailable" && line.source === source);
  const stream = await LiveStream.open(`http://127.0.0.1:${gateway.port}`);
  const away = `consul (${consul.url} dc1) is away, its last good routes serve`;
  await stream.until(({ verdict }: { verdict: object }) => JSON.stringify(verdict).includes(away));
  stream.close();
  consul.remove("t-1");
  etcd.tokens.clear();
  etcd.put("/edge/routes/new", route("new.test", "new"));
  gateway = await restartGateway(gateway, build);
  expect([await text("shop.test"), await text("a.test"), await text("t.test", "/api")]).toEqual(["one", "a", "one"]);
  let count = 0;
  const nonsense = ["{not json", "[]", "null", '{"a": 7}', "{}", '{"kvs": [{"key": 7}]}'];
  for (const store of [consul, etcd])
    store.misdeed = (path, response) => {
      if (path === "/v3/auth/authenticate" || count++ > 8) return false;
      response.end(nonsense[count % nonsense.length]!);
      return true;
    };
  await Promise.all([consul.open(), etcd.open()]);
  await becomes("new", "new.test");
  await becomes("404", "t.test", "/api");
  expect(await text("shop.test")).toBe("one");
  await eventually(() =>
    expect(
      events("provider_available")
        .map(({ source }) => source)
        .sort(),
    ).toEqual(["consul", "etcd"]),
  );
});

longTest("a watch that is cancelled or says nonsense begins anew; nothing is asked again and again", async () => {
  for (const noise of ["compact", '{"result":', "7\n", '{"error":{"message":"x"}}\n', "x".repeat(17_000_000)]) {
    await eventually(() => expect(etcd.watchers).toBe(1));
    if (noise === "compact") etcd.compact();
    else etcd.write(noise.endsWith("\n") || noise.length > 100 ? noise : `${noise}\n`);
    await eventually(() => expect(etcd.watchers).toBe(0));
    expect(await text("a.test")).toBe("a");
  }
  await eventually(() => expect(etcd.watchers).toBe(1));
  etcd.put("/edge/routes/last", route("last.test", "last"));
  await becomes("last", "last.test");
  // Nothing is asked again and again while all is well.
  await eventually(async () => {
    const asked = consul.seen.length + nomad.seen.length + etcd.seen.length;
    await Bun.sleep(300);
    expect(consul.seen.length + nomad.seen.length + etcd.seen.length).toBe(asked);
  });
});
