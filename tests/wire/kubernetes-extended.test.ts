// docs/gateway-api.md: what Gateway API calls extended, by an API server that does as the test says.
import { afterAll, expect, test } from "bun:test";
import { ApiServer, type ClusterObject } from "../harness/api-server.ts";
import { TestAuthority } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { RawClient, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import { TlsClient, type TlsClientOptions } from "../harness/tls-client.ts";

const GATEWAY = "gateway.networking.k8s.io/v1";
const authority = await TestAuthority.make("clients");
const stranger = await TestAuthority.make("strangers");
const [server, client, unknown, backend] = await Promise.all([
  authority.issue({ names: ["a.example", "b.example"].map((value) => ({ type: "dns" as const, value })) }),
  authority.issue({ subject: "client" }),
  stranger.issue({ subject: "unknown" }),
  authority.issue({
    names: [
      { type: "dns", value: "api.test" },
      { type: "url", value: "spiffe://a.test/api" },
    ],
  }),
]);
const [http, https, checked] = [freePort(), freePort(), freePort()];
const api = new ApiServer();
const [main, copies, secure] = [EchoOrigin.start(), EchoOrigin.start(), EchoOrigin.start({ tls: backend })];
let failures = 0;
main.on("/flaky", (call) => {
  const isBad = failures-- > 0;
  call.reply(isBad ? "503 Service Unavailable" : "200 OK", [], isBad ? "bad" : "good");
});

const meta = (name: string) => ({ name, namespace: "web" });
const object = (kind: string, name: string, own: object): ClusterObject => ({
  ...{ apiVersion: GATEWAY, kind, metadata: meta(name) },
  spec: { ...own },
});
const data = (kind: string, name: string, more: object): ClusterObject => ({ kind, metadata: meta(name), ...more });
const base64 = (text: string) => Buffer.from(text).toString("base64");
const service = (name: string, port: number): ClusterObject[] => [
  data("Service", name, { spec: { clusterIP: "10.0.0.1", ports: [{ name: "main", port: 80 }] } }),
  {
    ...{ kind: "EndpointSlice", metadata: { ...meta(`${name}-1`), labels: { "kubernetes.io/service-name": name } } },
    ...{ addressType: "IPv4", ports: [{ name: "main", port }] },
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
  },
];
const to = (name: string) => [{ name, port: 80 }];
const rule = (path: string, more: object, name = "main") => ({
  ...{ matches: [{ path: { value: path } }], backendRefs: to(name) },
  ...more,
});
const mirror = (name: string) => ({ type: "RequestMirror", requestMirror: { backendRef: to(name)[0] } });
const tls = { certificateRefs: [{ name: "pair" }] };
const frontend = (mode: string) => ({
  frontend: {
    default: { validation: { caCertificateRefs: [{ kind: "ConfigMap", group: "", name: "ca" }] } },
    perPort: [
      { port: https, tls: {} },
      {
        port: checked,
        tls: { validation: { mode, caCertificateRefs: [{ kind: "ConfigMap", group: "", name: "ca" }] } },
      },
    ],
  },
});
const gatewayOf = (name: string, mode: string, more: object = {}) =>
  object("Gateway", name, {
    ...{ gatewayClassName: "edge", tls: frontend(mode) },
    listeners: [
      { name: "http", port: http, protocol: "HTTP" },
      { name: "any", port: https, protocol: "HTTPS", tls },
      { name: "b", port: https, protocol: "HTTPS", hostname: "b.example", tls },
      { name: "checked", port: checked, protocol: "HTTPS", tls },
    ],
    ...more,
  });
const policy = (name: string, subjectAltNames: readonly object[]): ClusterObject => ({
  ...object("BackendTLSPolicy", name, {
    targetRefs: [{ kind: "Service", group: "", name }],
    validation: {
      ...{ hostname: "other.test", caCertificateRefs: [{ kind: "ConfigMap", group: "", name: "ca" }] },
      subjectAltNames,
    },
  }),
});
const cors = (more: object) => ({ filters: [{ type: "CORS", cors: more }] });

api.put(
  { kind: "Namespace", metadata: { name: "web" } },
  { ...object("GatewayClass", "edge", { controllerName: "edge.dev/gateway" }), metadata: { name: "edge" } },
  data("ConfigMap", "ca", { data: { "ca.crt": authority.cert } }),
  data("Secret", "pair", {
    type: "kubernetes.io/tls",
    data: { "tls.crt": base64(server.cert), "tls.key": base64(server.key) },
  }),
  ...service("main", main.port),
  ...["one", "two", "plain"].flatMap((name) => service(name, copies.port)),
  ...["by-host", "by-uri", "by-none", "hidden"].flatMap((name) => service(name, secure.port)),
  policy("by-host", [{ type: "Hostname", hostname: "api.test" }]),
  policy("by-uri", [
    { type: "Hostname", hostname: "no.test" },
    { type: "URI", uri: "spiffe://a.test/api" },
  ]),
  policy("by-none", [{ type: "URI", uri: "spiffe://a.test/other" }]),
  policy("hidden", [{ type: "Hostname", hostname: "api.test" }]),
  gatewayOf("public", "AllowInsecureFallback"),
  object("HTTPRoute", "all", {
    parentRefs: [{ name: "public" }],
    rules: [
      rule("/retry", { retry: { codes: [503], attempts: 2, backoff: "10ms" }, ...rewritten("/flaky") }),
      rule("/once", rewritten("/flaky")),
      rule("/mirrors", { filters: [mirror("one"), mirror("two"), mirror("hidden")] }),
      rule("/named", cors({ allowOrigins: ["https://*.a.example"], allowCredentials: true, allowMethods: ["*"] })),
      rule(
        "/any",
        cors({
          ...{ allowOrigins: ["*"], allowHeaders: ["*"], allowMethods: ["*"], exposeHeaders: ["*"] },
          allowCredentials: true,
        }),
      ),
      ...["by-host", "by-uri", "by-none"].map((name) => rule(`/${name}`, {}, name)),
    ],
  }),
  object("HTTPRoute", "who", {
    ...{ parentRefs: [{ name: "public", sectionName: "checked" }], hostnames: ["who.example"] },
    rules: [
      {
        backendRefs: to("main"),
        filters: [
          { type: "ResponseHeaderModifier", responseHeaderModifier: { set: [{ name: "X-In", value: "yes" }] } },
        ],
      },
    ],
  }),
);
function rewritten(path: string) {
  const urlRewrite = { path: { type: "ReplaceFullPath", replaceFullPath: path } };
  return { filters: [{ type: "URLRewrite", urlRewrite }] };
}

const gateway = await startGateway({
  config: {
    server: { workers: 1 },
    providers: { kubernetes: { kubeconfig: "kubeconfig", addresses: ["127.0.0.84/30"] } },
  },
  files: { kubeconfig: api.kubeconfig("first") },
});
afterAll(async () => {
  await stopAll(gateway, main, copies, secure);
  await api.away();
});

const AT = "127.0.0.85";
async function ask(line: string, fields: readonly string[] = []): Promise<Reply> {
  const connection = await RawClient.connect(http, AT);
  return connection.exchange(request(line, fields)).finally(() => connection.close());
}
const status = () =>
  api.get("Gateway", "public")?.status as {
    readonly conditions: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
  };
const conditionOf = (type: string) => {
  const found = status()?.conditions.find((one) => one.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason}`;
};

test("retries by status, several mirrors, and none in clear text to a backend with TLS", async () => {
  await eventually(async () => expect((await ask("GET /once")).text).toBe("good"));
  failures = 2;
  expect((await ask("GET /retry")).text).toBe("good");
  failures = 1;
  expect((await ask("POST /retry")).status).toBe(503);
  failures = 1;
  expect((await ask("GET /once")).status).toBe(503);
  expect((await ask("GET /mirrors/canary")).status).toBe(200);
  await copies.until("both copies", () => (copies.requests.length === 2 ? true : undefined));
  expect(secure.connections.length).toBe(0);
});

test("CORS by pattern, and with credentials by what the request names", async () => {
  const preflight = (path: string, origin: string) =>
    ask(`OPTIONS ${path}`, [
      `Origin: ${origin}`,
      "Access-Control-Request-Method: PUT",
      "Access-Control-Request-Headers: x-a, x-b",
    ]);
  const shown = ({ fields }: Reply) =>
    ["origin", "methods", "headers", "credentials"].map((name) => fields.get(`access-control-allow-${name}`));
  expect(shown(await preflight("/named", "https://x.a.example"))).toEqual([
    ...["https://x.a.example", "PUT"],
    null as never,
    "true",
  ]);
  expect(shown(await preflight("/named", "https://a.example.evil"))[0] ?? null).toBeNull();
  expect(shown(await preflight("/any", "https://b.example"))).toEqual(["https://b.example", "PUT", "x-a, x-b", "true"]);
  const { fields } = await ask("GET /any/canary", ["Origin: https://b.example"]);
  expect(fields.has("access-control-expose-headers")).toBe(false);
});

test("a BackendTLSPolicy verifies alternative names in the place of the host", async () => {
  const statuses = await Promise.all(["by-host", "by-uri", "by-none"].map((name) => ask(`GET /${name}/canary`)));
  expect(statuses.map((reply) => reply.status)).toEqual([200, 200, 502]);
});

test("HTTPS listeners of one port have connections of their own", async () => {
  const asked = async (serverName: string, host: string) => {
    const named = { serverName, hostname: AT };
    const lines = [`Host: ${host}`];
    const first = (await TlsClient.once(https, request("GET /mirrors/canary", lines), named)).status;
    const h2 = await H2Client.connectTls(https, named);
    const fields = head("GET", "/mirrors/canary").map(
      ([name, value]) => [name, name === ":authority" ? host : value] as const,
    );
    const second = (await h2.request(fields)).status;
    h2.close();
    return [first, second];
  };
  expect(await asked("a.example", "a.example")).toEqual([200, 200]);
  expect(await asked("b.example", "b.example")).toEqual([200, 200]);
  expect(await asked("a.example", "b.example")).toEqual([421, 421]);
  expect(await asked("b.example", "a.example")).toEqual([421, 421]);
  expect(await asked("c.example", "a.example")).toEqual([200, 200]);
});

test("AllowInsecureFallback lets clients in whose certificates nobody has signed, and says so; without it they stay out", async () => {
  const comesIn = (who: TlsClientOptions) =>
    TlsClient.once(checked, request("GET /canary", ["Host: who.example"]), { hostname: AT, ...who }).then(
      ({ fields }) => fields.get("x-in") === "yes",
      () => false,
    );
  expect(await Promise.all([comesIn({}), comesIn(client), comesIn(unknown)])).toEqual([true, true, true]);
  expect(conditionOf("InsecureFrontendValidationMode")).toBe("True ConfigurationChanged");
  api.put(gatewayOf("public", "AllowValidOnly"));
  await eventually(async () => {
    expect(await Promise.all([comesIn({}), comesIn(client), comesIn(unknown)])).toEqual([false, true, false]);
    expect(conditionOf("InsecureFrontendValidationMode")).toBe("");
  });
});

test("a Gateway with parameters of another controller is refused, and serves nothing", async () => {
  const parametersRef = { group: "x.example", kind: "Parameters", name: "p" };
  api.put(gatewayOf("public", "AllowValidOnly", { infrastructure: { parametersRef } }));
  await eventually(() => expect(conditionOf("Accepted")).toBe("False InvalidParameters"));
  await eventually(async () => {
    const isServed = await ask("GET /once").then(
      ({ status: code }) => code === 200,
      () => false,
    );
    expect(isServed).toBe(false);
  });
  api.put(gatewayOf("public", "AllowValidOnly"));
  await eventually(async () => expect((await ask("GET /once")).text).toBe("good"));
});
