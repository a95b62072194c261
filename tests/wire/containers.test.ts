// docs/providers.md#docker-and-podman, on an engine that speaks as Docker does.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { ContainerEngine } from "../harness/container-engine.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, restartGateway, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { json, request } from "../harness/raw-client.ts";

// Restarts of the gateway and pauses of the engine.
setDefaultTimeout(30_000);

const engine = await new ContainerEngine().open();
const [one, two] = [EchoOrigin.start(), EchoOrigin.start()];
for (const [origin, name] of [
  [one, "one"],
  [two, "two"],
] as const)
  origin.otherwise((call) => call.reply("200 OK", [], name));

/** Labels of a route of edge. */
const edge = (name: string, keys: Readonly<Record<string, string>>, port: number): Record<string, string> => ({
  "edge.enable": "true",
  "edge.port": String(port),
  ...Object.fromEntries(Object.entries(keys).map(([key, value]) => [`edge.routes.${name}.${key}`, value])),
});
engine.start("early", { labels: edge("early", { host: "early.test" }, one.port) });
const build = { binary: binaryWithHooks(), env: { EDGE_TEST_ENGINE_PAUSE_MS: "100" } };
let gateway = await startGateway({
  ...build,
  config: {
    providers: {
      directory: { path: "routes.d" },
      docker: { endpoint: `unix:${engine.socket}`, constraints: [] },
    },
  },
  routes: [
    { type: "respond", prefix: "/", host: "owned.test", body: "owned" },
    { type: "respond", prefix: "/", host: "*.owned.test", body: "below" },
  ],
  files: { "routes.d/x.yaml": "- {type: respond, prefix: /dir, body: dir}\n", secret: "hidden" },
});
afterAll(async () => {
  await gateway.stop();
  engine.stop();
  one.stop();
  two.stop();
});

async function text(host: string, path = "/", fields: readonly string[] = []): Promise<string> {
  const reply = await gateway.once(request(`GET ${path}`, [`Host: ${host}`, ...fields]));
  return reply.status === 200 ? reply.text : String(reply.status);
}
const becomes = (wanted: string, ...at: Parameters<typeof text>) =>
  eventually(async () => expect(await text(...at)).toBe(wanted));
const events = (name: string) => gateway.logs.json.filter(({ event }) => event === name);
const listed = async () =>
  (
    json(await gateway.once(request("GET /internal/api/config/routes", ["Host: localhost"]))) as {
      routes: { source: string; name: string }[];
    }
  ).routes.filter(({ source }) => source === "docker");

test("the first request is served by containers from before the start, and from after it", async () => {
  expect(await text("early.test")).toBe("one");
  engine.start("web", { labels: edge("web", { host: "web.test", "headers.response.set.X-A": "1.10" }, one.port) });
  await becomes("one", "web.test");
  const reply = await gateway.once(request("GET /", ["Host: web.test"]));
  expect(reply.fields.get("x-a")).toBe("1.10");
  // Without labels of routes: its own name, its lowest port.
  engine.start("Plain_1", { labels: { "edge.enable": "true" }, ports: [two.port] });
  await becomes("two", "plain-1.localhost");
  engine.start("off", { labels: { "edge.routes.off.host": "off.test" }, ports: [two.port] });
  engine.start("later", { labels: edge("later", { host: "later.test" }, two.port) });
  await becomes("two", "later.test");
  expect(await text("off.test")).toBe("404");
  expect((await listed()).map(({ name }) => name)).toContain("web (web)");
});

test("containers of one route are its targets; one that ends, stops or turns unhealthy gets nothing at once", async () => {
  engine.start("a", { labels: edge("both", { hosts: "both.test, also.test" }, one.port) });
  engine.start("b", { labels: edge("both", { hosts: "both.test, also.test" }, two.port), health: "starting" });
  await becomes("one", "also.test");
  expect(new Set(await Promise.all([1, 2, 3, 4].map(() => text("both.test"))))).toEqual(new Set(["one"]));
  const generation = async () =>
    (json(await gateway.once(request("GET /internal/api/status", ["Host: localhost"]))) as { generation: number })
      .generation;
  const before = await generation();
  engine.health("b", "healthy");
  const both = (): Promise<string[]> => Promise.all([1, 2, 3, 4].map(() => text("both.test")));
  await eventually(async () => expect(new Set(await both())).toEqual(new Set(["one", "two"])));
  engine.kill("b", "1");
  engine.kill("a");
  await eventually(async () => expect(new Set(await both())).toEqual(new Set(["two"])));
  // It runs on after the signal, and comes back.
  await eventually(async () => expect(new Set(await both())).toEqual(new Set(["one", "two"])));
  engine.health("b", "unhealthy");
  await eventually(async () => expect(new Set(await both())).toEqual(new Set(["one"])));
  // Targets alone have changed: the configuration is the same.
  expect(await generation()).toBe(before);
  engine.end("a");
  await becomes("404", "both.test");
});

test("labels that are forbidden or faulty leave their route out, in one event with container, label and cure", async () => {
  const wrong: [name: string, keys: Record<string, string>, event: string, said: string][] = [
    ["users", { host: "w1.test", "auth.basic.users_file": "secret" }, "route_invalid", "edge.routes.users.auth.basic"],
    ["env", { host: "w2.test", "headers.response.set.X": "${HOME}" }, "route_invalid", "edge.routes.env.headers"],
    ["mounted", { host: "w3.test", type: "static", dir: "." }, "route_invalid", "edge.routes.mounted.dir"],
    ["module", { host: "w4.test", type: "function", module: "./x.ts" }, "route_invalid", "edge.routes.module"],
    ["typo", { host: "w5.test", statsu: "1" }, "route_invalid", "edge.routes.typo.statsu"],
    ["size", { host: "w6.test", max_body_bytes: "much" }, "route_invalid", "edge.routes.size.max_body_bytes"],
    ["other", { host: "w7.test", target: "http://169.254.169.254" }, "label_ignored", "edge.routes.other.target"],
    ["twice", { host: "w8.test", cors: "off", "cors.origins": "x" }, "label_ignored", "edge.routes.twice.cors"],
    ["inner", { host: "owned.test", prefix: "/steal" }, "route_invalid", "edge.routes.inner.host"],
    ["below", { host: "x.owned.test" }, "route_invalid", "edge.routes.below.host"],
    ["sock", { host: "w9.test", "mirror.target": "unix:/run/x.sock" }, "label_ignored", "edge.routes.sock.mirror"],
    ["new", { host: "w12.test", "canary.target": "http://127.0.0.1:1" }, "label_ignored", "edge.routes.new.canary"],
  ];
  for (const [name, keys] of wrong) engine.start(name, { labels: edge(name, keys, one.port) });
  engine.start("proto", {
    labels: {
      ...edge("proto", { host: "w10.test" }, one.port),
      "edge.routes.proto.__proto__.x": "1",
      "edge.nonsense": "",
    },
  });
  engine.start("noport", { labels: { "edge.enable": "true", "edge.routes.noport.host": "w11.test" } });
  engine.start("fine", { labels: edge("fine", { host: "fine.test" }, two.port) });
  await becomes("two", "fine.test");
  for (const [name, keys, event, said] of wrong) {
    const lines = await eventually(() => {
      const found = events(event).filter((line) => JSON.stringify(line).includes(said));
      expect([name, found.length]).toEqual([name, 1]);
      return found;
    });
    expect(JSON.stringify(lines[0])).toContain(name);
    const served = await text(keys.host!, keys.prefix ?? "/");
    expect([name, served]).toEqual([name, { inner: "owned", below: "below" }[name] ?? "404"]);
  }
  expect(await text("w10.test")).toBe("404");
  const labels = events("label_ignored").map(({ container, label }) => `${container} ${label}`);
  expect(labels).toContain("proto edge.nonsense");
  expect(labels).toContain("noport edge.routes.noport.port");
  expect(JSON.stringify(gateway.logs.json)).not.toContain(String(process.env.HOME));
  expect((await listed()).map(({ name }) => name).filter((name) => /users|typo|inner/.test(name))).toEqual([]);
  // The built-in endpoints are no container's, whatever it says.
  engine.start("inside", { labels: edge("inside", { host: "inside.test", prefix: "/internal" }, one.port) });
  await becomes("404", "inside.test");
  expect(await text("inside.test", "/internal/api/status")).not.toBe("one");
  // The same host, path and match as a file's is shadowed, and named.
  engine.start("same", { labels: edge("same", { host: "owned.test" }, one.port) });
  await gateway.log("shadowed", ({ event, source }) => event === "route_shadowed" && source === "docker");
  expect(await text("owned.test")).toBe("owned");
});

test("labels of Traefik", async () => {
  const traefik = (labels: Record<string, string>): Record<string, string> =>
    Object.fromEntries([
      ["traefik.enable", "true"],
      ...Object.entries(labels).map(([key, value]) => [`traefik.${key}`, value]),
    ]);
  engine.start("t1", {
    labels: traefik({
      "http.routers.t.rule": "Host(`t.test`) && (PathPrefix(`/api`) || Path(`/one`))",
      "http.routers.t.entrypoints": "web,websecure",
      "http.routers.t.middlewares": "strip@docker,head",
      "http.middlewares.strip.stripprefix.prefixes": "/api",
      "http.middlewares.head.headers.customresponseheaders.X-From": "t",
      "http.services.t.loadbalancer.server.port": String(one.port),
    }),
  });
  engine.start("t2", { labels: traefik({}), ports: [two.port] });
  engine.start("t3", {
    labels: traefik({
      "http.routers.open.rule": "Host(`g.test`)",
      "http.routers.shut.rule": "Host(`g.test`) && PathPrefix(`/admin`)",
      "http.routers.shut.middlewares": "guard",
      "http.middlewares.guard.digestauth.users": "a:b:c",
      "http.services.g.loadbalancer.server.port": String(one.port),
    }),
  });
  await becomes("one", "t.test", "/api/x");
  expect(one.requests.at(-1)!.target).toBe("/x");
  const reply = await gateway.once(request("GET /one", ["Host: t.test"]));
  expect([reply.text, reply.fields.get("x-from")]).toEqual(["one", "t"]);
  expect(await text("t.test", "/other")).toBe("404");
  await becomes("one", "g.test");
  // A guard that edge does not have: the whole router is out, and no wider one takes its requests.
  expect(await text("g.test", "/admin")).toBe("404");
  const [ignored] = events("label_ignored").filter(({ route }) => route === "shut");
  expect(ignored).toMatchObject({ source: "docker", container: "t3", label: expect.stringContaining("guard") });
});

test("an engine that goes away costs no route; changes of the meantime are caught up, and a restart needs no engine", async () => {
  const unavailable = () => events("provider_unavailable").length;
  const before = unavailable();
  await engine.close();
  await eventually(() => expect(unavailable()).toBe(before + 1));
  expect(await text("web.test")).toBe("one");
  engine.start("meantime", { labels: edge("meantime", { host: "meantime.test" }, two.port) });
  engine.end("later");
  // A restart of the gateway does not need the engine.
  gateway = await restartGateway(gateway, build);
  expect([await text("web.test"), await text("early.test")]).toEqual(["one", "one"]);
  await engine.open();
  await becomes("two", "meantime.test");
  await becomes("404", "later.test");
});

longTest(
  "an engine that is away for a minute costs no request under load, and changes of that minute are caught up",
  async () => {
    engine.start("steady", { labels: edge("steady", { host: "steady.test" }, one.port) });
    engine.start("leaving", { labels: edge("leaving", { host: "leaving.test" }, one.port) });
    await becomes("one", "steady.test");
    await becomes("one", "leaving.test");
    let [isOver, good] = [false, 0];
    const lost: string[] = [];
    const client = async (): Promise<void> => {
      while (!isOver) {
        const said = await text("steady.test").catch(String);
        if (said === "one") good++;
        else lost.push(said);
      }
    };
    const clients = [client(), client()];
    await engine.close();
    engine.start("arriving", { labels: edge("arriving", { host: "arriving.test" }, two.port) });
    engine.end("leaving");
    await Bun.sleep(60_000);
    expect(await text("leaving.test")).toBe("one");
    await engine.open();
    await becomes("two", "arriving.test");
    await becomes("404", "leaving.test");
    isOver = true;
    await Promise.all(clients);
    expect([lost, good > 1000]).toEqual([[], true]);
  },
  120_000,
);

test("an engine that says nonsense, or never ends a line, costs no route", async () => {
  const back = () => eventually(() => expect(engine.listeners).toBe(1));
  for (const noise of ["{not json\n", "x".repeat(2_000_000), "[]\n\n7\n", "\0\xff\n"]) {
    await back();
    const count = engine.seen.length;
    engine.write(noise);
    // It lets go, and lists all anew.
    await eventually(() => expect(engine.seen.length).toBeGreaterThan(count));
    expect(await text("web.test")).toBe("one");
  }
  const misdeeds: ((path: string) => string | null)[] = [
    (path) => (path === "/containers/json" ? "nonsense" : null),
    (path) => (path === "/containers/json" ? '{"message": "x"}' : null),
    (path) => (path.endsWith("/json") && path !== "/containers/json" ? "[" : null),
    (path) => (path === "/containers/json" ? '[null, 7, {"Id": 7}, {"Id": "z", "Labels": {"edge.enable": 7}}]' : null),
  ];
  for (const misdeed of misdeeds.slice(0, 3)) {
    await engine.close();
    engine.misdeed = (asked, response) => {
      const wrong = misdeed(asked.url!.split("?", 1)[0]!);
      if (wrong !== null) response.end(wrong);
      return wrong !== null;
    };
    await engine.open();
    const count = engine.seen.length;
    await eventually(() => expect(engine.seen.length).toBeGreaterThan(count + 1));
    expect([await text("web.test"), await text("meantime.test")]).toEqual(["one", "two"]);
  }
  engine.misdeed = () => false;
  await back();
  engine.start("last", { labels: edge("last", { host: "last.test" }, two.port) });
  await becomes("two", "last.test");
  expect(new Set(engine.seen.map((line) => line.split(" ")[0]))).toEqual(new Set(["GET"]));
  // Nothing is asked again and again while all is well.
  await eventually(async () => {
    const count = engine.seen.length;
    await Bun.sleep(300);
    expect(engine.seen.length).toBe(count);
  });
});
