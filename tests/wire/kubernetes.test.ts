// docs/gateway-api.md: objects of a cluster, by an API server that does as the test says.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ApiServer, type ClusterObject } from "../harness/api-server.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { RawClient } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const api = new ApiServer();
const port = await freePort();
const origins = ["one", "two"].map((name) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => new Response(`${name} ${new URL(request.url).pathname}`),
  }),
);
const NS = "web";
const GATEWAY = "gateway.networking.k8s.io/v1";

const meta = (name: string) => ({ name, namespace: NS });
const route = (name: string, rules: readonly object[], more: object = {}): ClusterObject => ({
  ...{ apiVersion: GATEWAY, kind: "HTTPRoute", metadata: meta(name) },
  spec: { parentRefs: [{ name: "public" }], ...more, rules },
});
const to = (...names: readonly string[]) => names.map((name) => ({ name, port: 80 }));
const service = (name: string): ClusterObject => ({
  ...{ kind: "Service", metadata: meta(name) },
  spec: { clusterIP: "10.0.0.1", ports: [{ name: "http", port: 80 }] },
});
const slice = (name: string, at: number): ClusterObject => ({
  ...{ kind: "EndpointSlice", metadata: { ...meta(`${name}-1`), labels: { "kubernetes.io/service-name": name } } },
  ...{ addressType: "IPv4", ports: [{ name: "http", port: at }] },
  endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
});

let gateways: Gateway[] = [];
const start = (account: string) =>
  startGateway({
    config: { providers: { kubernetes: { kubeconfig: "kubeconfig", addresses: ["127.0.0.80/30"] } } },
    routes: [{ type: "respond", prefix: "/file", body: "file" }],
    files: { kubeconfig: api.kubeconfig(account) },
  });

beforeAll(async () => {
  api.put(
    { kind: "Namespace", metadata: { name: NS } },
    {
      apiVersion: GATEWAY,
      kind: "GatewayClass",
      metadata: { name: "edge" },
      spec: { controllerName: "edge.dev/gateway" },
    },
    { apiVersion: GATEWAY, kind: "GatewayClass", metadata: { name: "other" }, spec: { controllerName: "x.y/z" } },
    {
      ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: meta("public") },
      spec: { gatewayClassName: "edge", listeners: [{ name: "http", port, protocol: "HTTP" }] },
    },
    service("one"),
    service("two"),
    service("empty"),
    slice("one", origins[0]!.port!),
    slice("two", origins[1]!.port!),
    route("app", [
      { matches: [{ path: { value: "/a" } }], backendRefs: to("one") },
      { matches: [{ path: { value: "/none" } }], backendRefs: to("gone") },
      { matches: [{ path: { value: "/empty" } }], backendRefs: to("empty") },
      { matches: [{ path: { value: "/.well-known" } }], backendRefs: to("two") },
    ]),
  );
  for (const plural of ["grpcroutes", "tlsroutes"])
    api.refusals.push(...Array.from({ length: 4 }, () => ({ plural, status: 403 })));
  gateways = [await start("first")];
});
afterAll(async () => {
  for (const one of gateways) await stopAll(one);
  await api.away();
  for (const one of origins) await one.stop(true);
});

async function says(path: string, headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const reply = await fetch(`http://127.0.0.81:${port}${path}`, { headers });
  const text = await reply.text();
  return reply.status === 200 ? text : String(reply.status);
}
const becomes = (path: string, wanted: string, more?: Readonly<Record<string, string>>) =>
  eventually(async () => expect(await says(path, more)).toBe(wanted));

interface Conditions {
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
}
const shown = (all: Conditions["conditions"] = []) =>
  all.map(({ type, status, reason }) => `${type} ${status} ${reason}`);
function parentOf(name: string): readonly string[] {
  const { parents = [] } = (api.get("HTTPRoute", name)?.status ?? {}) as { readonly parents?: readonly Conditions[] };
  return parents.flatMap(({ conditions }) => shown(conditions));
}

test("a Gateway gets an address and serves its routes; statuses say so", async () => {
  await becomes("/a/x", "one /a/x");
  expect([await says("/none"), await says("/empty"), await says("/b"), await says("/file")]).toEqual([
    ...["500", "503", "404", "file"],
  ]);
  await eventually(() =>
    expect(parentOf("app")).toEqual(["Accepted True Accepted", "ResolvedRefs False BackendNotFound"]),
  );
  const { addresses, conditions, listeners } = api.get("Gateway", "public")!.status as {
    readonly addresses: unknown;
    readonly listeners: readonly (Conditions & { readonly attachedRoutes: number })[];
  } & Conditions;
  expect(addresses).toEqual([{ type: "IPAddress", value: "127.0.0.81" }]);
  expect(shown(conditions)).toEqual(["Accepted True Accepted", "Programmed True Programmed"]);
  expect(listeners[0]?.attachedRoutes).toBe(1);
  const challenge = "/.well-known/acme-challenge/token";
  expect(await says(challenge)).toBe(`two ${challenge}`);
  expect(api.get("GatewayClass", "edge")?.status).toBeDefined();
  expect(api.get("GatewayClass", "other")?.status).toBeUndefined();
});

test("kinds that may not be read are one line of the log, which names them", async () => {
  const isLine = ({ event, name }: { readonly event?: unknown; readonly name?: unknown }) =>
    event === "provider_unavailable" && name === "cluster";
  const line = await gateways[0]!.log("the refusal", isLine);
  expect(line.error).toBe("edge may not read grpcroutes, tlsroutes: 403 as the test says");
  expect(gateways[0]!.logs.json.filter(isLine)).toHaveLength(1);
});

test("changes are taken up: endpoints, rules, precedence across routes; literal braces and variables", async () => {
  const generation = async () => {
    const reply = await fetch(`http://127.0.0.1:${gateways[0]!.port}/internal/api/status`);
    return ((await reply.json()) as { readonly generation: number }).generation;
  };
  const before = await generation();
  api.put(slice("one", origins[1]!.port!));
  await becomes("/a", "two /a");
  // Endpoints need no other configuration.
  expect(await generation()).toBe(before);
  api.put(
    route("narrow", [
      {
        matches: [{ path: { value: "/a" }, headers: [{ name: "X-V", value: "1" }] }],
        backendRefs: to("two"),
        filters: [
          { type: "URLRewrite", urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/{path}" } } },
        ],
      },
      { matches: [{ path: { value: "/head" }, method: "GET" }], backendRefs: to("one") },
    ]),
  );
  await becomes("/a/b", "two /%7Bpath%7D/b", { "X-V": "1" });
  expect(await says("/a/b")).toBe("two /a/b");
  api.put(slice("one", origins[0]!.port!));
  await becomes("/a", "one /a");
});

test("endpoints of a TCPRoute change without another configuration, and its open connections stay", async () => {
  const at = await freePort();
  const raw: readonly ClusterObject[] = [
    {
      ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: meta("raw") },
      spec: { gatewayClassName: "edge", listeners: [{ name: "tcp", port: at, protocol: "TCP" }] },
    },
    {
      ...{ apiVersion: GATEWAY, kind: "TCPRoute", metadata: meta("raw") },
      spec: { parentRefs: [{ name: "raw" }], rules: [{ backendRefs: to("one") }] },
    },
  ];
  api.put(...raw);
  const asks = async (client: RawClient) => (await client.exchange("GET /s HTTP/1.1\r\nHost: x\r\n\r\n")).text;
  const once = async () => {
    const client = await RawClient.connect(at, "127.0.0.82");
    const text = await asks(client);
    client.close();
    return text;
  };
  await eventually(async () => expect(await once()).toBe("one /s"));
  const kept = await RawClient.connect(at, "127.0.0.82");
  expect(await asks(kept)).toBe("one /s");
  const status = async () =>
    (await (await fetch(`http://127.0.0.1:${gateways[0]!.port}/internal/api/status`)).json()) as object as {
      readonly generation: number;
    };
  const { generation } = await status();
  api.put(slice("one", origins[1]!.port!));
  await eventually(async () => expect(await once()).toBe("two /s"));
  expect([await asks(kept), (await status()).generation]).toEqual(["one /s", generation]);
  kept.close();
  api.put(slice("one", origins[0]!.port!));
  await becomes("/a", "one /a");
  for (const object of raw) api.remove(object);
  await eventually(() => expect(once()).rejects.toThrow());
});

test("a faulty object takes no other one down, and says why", async () => {
  api.put(
    route("broken", [{ matches: [{ path: { type: "RegularExpression", value: "/(?=x)" } }], backendRefs: to("one") }]),
    route("good", [{ matches: [{ path: { value: "/good" } }], backendRefs: to("two") }]),
  );
  await becomes("/good", "two /good");
  await eventually(() => expect(parentOf("broken")[0]).toBe("Accepted False UnsupportedValue"));
  expect(await says("/a")).toBe("one /a");
  const [first] = gateways;
  const run = await runProcess([EDGE_BINARY, "status", "--json", "--url", `http://127.0.0.1:${first!.port}`], {
    timeout: 30_000,
  });
  const { unserved } = JSON.parse(run.stdout) as { readonly unserved: readonly Readonly<Record<string, string>>[] };
  const shown = unserved.map(({ object, reason }) => `${object} ${reason}`);
  expect(shown).toContain("HTTPRoute web/broken UnsupportedValue");
  expect(shown).toContain("HTTPRoute web/app BackendNotFound");
  api.remove(route("broken", []));
});

test("Secrets: one that is no pair closes its listener alone, a good one serves, and none is in the log or a listing", async () => {
  const { cert, key } = await makeCertificate([{ type: "ip", value: "127.0.0.81" }]);
  const secret = (text: string): ClusterObject => ({
    ...{ kind: "Secret", type: "kubernetes.io/tls", metadata: meta("tls") },
    data: { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(text).toString("base64") },
  });
  const secure = await freePort();
  api.put(secret("no key"), {
    ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: meta("public") },
    spec: {
      gatewayClassName: "edge",
      listeners: [
        { name: "http", port, protocol: "HTTP" },
        { name: "https", port: secure, protocol: "HTTPS", tls: { certificateRefs: [{ name: "tls" }] } },
      ],
    },
  });
  const listener = () => {
    const { listeners = [] } = api.get("Gateway", "public")!.status as { readonly listeners?: readonly Conditions[] };
    return shown(listeners[1]?.conditions).find((one) => one.startsWith("ResolvedRefs"));
  };
  await eventually(() => expect(listener()).toBe("ResolvedRefs False InvalidCertificateRef"));
  expect(await says("/a")).toBe("one /a");
  api.put(secret(key));
  const get = () => fetch(`https://127.0.0.81:${secure}/a`, { tls: { ca: cert } }).then((reply) => reply.text());
  await eventually(async () => expect(await get()).toBe("one /a"));
  const [first] = gateways;
  const listing = await first!.once("GET /internal/api/config HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const body = key.split("\n")[1]!;
  expect(`${listing.text}${JSON.stringify(first!.logs.json)}`).not.toContain(body);
});

test("a connection that a client has kept gets nothing more of a Gateway that is gone, nor of its routes", async () => {
  const own = await freePort();
  const gone: ClusterObject = {
    ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: meta("gone") },
    spec: { gatewayClassName: "edge", listeners: [{ name: "http", port: own, protocol: "HTTP" }] },
  };
  api.put(gone, route("kept", [{ backendRefs: to("one") }], { parentRefs: [{ name: "gone" }] }));
  const ask = "GET /kept HTTP/1.1\r\nHost: a\r\n\r\n";
  const connected = () => RawClient.connect(own, "127.0.0.82");
  await eventually(async () => {
    const one = await connected();
    expect((await one.exchange(ask)).text).toBe("one /kept");
    one.close();
  });
  const kept = await connected();
  expect((await kept.exchange(ask)).status).toBe(200);
  const [first] = gateways;
  api.remove(gone);
  await first!.log("its end", ({ event, removed }) => event === "config_reload" && `${removed}`.includes(`:${own}`));
  const late = await kept.exchange(ask).catch(() => null);
  expect([404, undefined]).toContain(late?.status);
  kept.close();
});

test("who is not served any more has no word of edge in its status", async () => {
  const own = await freePort();
  const listeners = [{ name: "extra", port: own, protocol: "HTTP" }];
  const spec = {
    ...{ gatewayClassName: "edge", listeners: [{ name: "http", port: own, protocol: "HTTP", hostname: "a.test" }] },
    allowedListeners: { namespaces: { from: "Same" } },
  };
  const former: ClusterObject = { apiVersion: GATEWAY, kind: "Gateway", metadata: meta("former"), spec };
  const set: ClusterObject = {
    ...{ apiVersion: GATEWAY, kind: "ListenerSet", metadata: meta("former") },
    spec: { parentRef: { name: "former" }, listeners },
  };
  const foreign = { ...set, metadata: meta("foreign"), spec: { ...set.spec!, parentRef: { name: "none" } } };
  const word = { conditions: [{ type: "Accepted", status: "True", reason: "Accepted", message: "" }] };
  api.put(former, set, { ...foreign, status: word } as ClusterObject);
  const said = (kind: string, name: string) => {
    const { conditions } = (api.get(kind, name)?.status ?? {}) as Partial<Conditions>;
    return shown(conditions);
  };
  await eventually(() =>
    expect(said("ListenerSet", "former")).toEqual(["Accepted True Accepted", "Programmed True Programmed"]),
  );
  api.put({ ...former, spec: { ...spec, gatewayClassName: "gone" } });
  await eventually(() =>
    expect(said("Gateway", "former")).toEqual(["Accepted Unknown Pending", "Programmed Unknown Pending"]),
  );
  api.remove(former);
  await eventually(() =>
    expect(said("ListenerSet", "former")).toEqual([
      ...["Accepted False ParentNotAccepted", "Programmed False ParentNotAccepted"],
    ]),
  );
  expect(said("ListenerSet", "foreign")).toEqual(["Accepted True Accepted"]);
  api.remove(set);
});

test("half JSON, 410, 429, 500 and a cut watch: traffic goes on, and the next change is taken up", async () => {
  const lists = () => api.lists.get("httproutes") ?? 0;
  const before = lists();
  const troubles: (() => void)[] = [
    () => api.say("HTTPRoute", '{"type":"MODIFIED","obj\n'),
    () => api.say("HTTPRoute", `${JSON.stringify({ type: "ERROR", object: { code: 410, message: "too old" } })}\n`),
    () => {
      api.refusals.push({ plural: "httproutes", status: 429, wait: 0 }, { plural: "httproutes", status: 500 });
      api.cut("HTTPRoute");
    },
    () => api.say("HTTPRoute", '{"type":"MODI'),
  ];
  for (const [i, trouble] of troubles.entries()) {
    trouble();
    api.cut("HTTPRoute");
    expect(await says("/a")).toBe("one /a");
    api.put(route("late", [{ matches: [{ path: { value: `/late${i}` } }], backendRefs: to("one") }]));
    await becomes(`/late${i}`, `one /late${i}`);
  }
  expect(lists()).toBeGreaterThan(before);
});

test("the API server away, and back with another history: the last good routes serve", async () => {
  await api.away();
  expect([await says("/a"), await says("/good")]).toEqual(["one /a", "two /good"]);
  api.remove(route("good", []));
  api.back();
  await becomes("/good", "404");
  expect(await says("/a")).toBe("one /a");
  const [first] = gateways;
  expect(first!.logs.json.some(({ event }) => event === "provider_unavailable")).toBe(true);
});

test("one of two gateways writes statuses; when it ends, the other one does", async () => {
  const isLeader = (one: Gateway) =>
    one.logs.json.findLast(({ event }) => event === "kubernetes_leader")?.leader === true;
  gateways.push(await start("second"));
  await eventually(() => expect(isLeader(gateways[0]!)).toBe(true));
  api.writers.length = 0;
  api.put(route("who", [{ backendRefs: to("one") }]));
  await eventually(() => expect(parentOf("who")[0]).toBe("Accepted True Accepted"));
  expect([...new Set(api.writers)]).toEqual(["Bearer first"]);
  await gateways.shift()!.stop();
  await gateways[0]!.log("the lease", ({ event, leader }) => event === "kubernetes_leader" && leader === true);
  api.put(route("then", [{ backendRefs: to("gone") }]));
  await eventually(() => expect(parentOf("then")[1]).toBe("ResolvedRefs False BackendNotFound"));
  expect(await says("/a")).toBe("one /a");
}, 20_000);

longTest(
  "a leader that is killed is replaced within 20 seconds, and one gateway writes statuses",
  async () => {
    const [old] = gateways;
    const next = await start("third");
    gateways.push(next);
    const killed = performance.now();
    old!.signal("SIGKILL");
    await old!.exited();
    await next.log("the lease", ({ event, leader }) => event === "kubernetes_leader" && leader === true);
    expect(performance.now() - killed).toBeLessThan(20_000);
    api.writers.length = 0;
    api.put(route("after", [{ backendRefs: to("one") }]));
    await eventually(() => expect(parentOf("after")[0]).toBe("Accepted True Accepted"));
    expect([...new Set(api.writers)]).toEqual(["Bearer third"]);
    gateways.shift()!.kill();
  },
  60_000,
);
