// docs/security.md: objects of one namespace of a cluster, against those of another. An API server that does as the test says has no schemas: it gives
// what a real one would refuse, too.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ApiServer, type ClusterObject } from "../harness/api-server.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

const api = new ApiServer();
const [http, https, webPort, tlsPort, evilPort, internal] = Array.from({ length: 6 }, () => freePort()) as [
  number,
  number,
  number,
  number,
  number,
  number,
];
const origins = ["one", "evil"].map((name) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => new Response(`${name} ${new URL(request.url).pathname}`),
  }),
);
const ownPort = freePort();
const GATEWAY = "gateway.networking.k8s.io/v1";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const good = await makeCertificate([{ type: "dns", value: "a.example" }]);
const others = await makeCertificate([{ type: "dns", value: "a.example" }]);

const meta = (namespace: string, name: string) => ({ name, namespace });
const secret = (namespace: string, name: string, cert: string, key: string): ClusterObject => ({
  ...{ kind: "Secret", metadata: meta(namespace, name), type: "kubernetes.io/tls" },
  data: { "tls.crt": base64(cert), "tls.key": base64(key) },
});
const gatewayOf = (namespace: string, name: string, listeners: unknown, more: object = {}): ClusterObject => ({
  ...{ apiVersion: GATEWAY, kind: "Gateway", metadata: meta(namespace, name) },
  spec: { gatewayClassName: "edge", listeners, ...more },
});
const route = (namespace: string, name: string, parent: string, rules: unknown, more: object = {}): ClusterObject => ({
  ...{ apiVersion: GATEWAY, kind: "HTTPRoute", metadata: meta(namespace, name) },
  spec: { parentRefs: [{ name: parent }], ...more, rules },
});
const to = (name: string) => [{ name, port: 80 }];
const ingress = (
  namespace: string,
  name: string,
  host: string,
  annotations: Readonly<Record<string, string>> = {},
  more: object = {},
): ClusterObject => ({
  ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress" },
  metadata: {
    ...meta(namespace, name),
    annotations: Object.fromEntries(
      Object.entries(annotations).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]),
    ),
  },
  spec: {
    ingressClassName: "edge",
    rules: [
      {
        host,
        http: {
          paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "app", port: { number: 80 } } } }],
        },
      },
    ],
    ...more,
  },
});
const policy = (namespace: string, name: string, target: string, keys: object): ClusterObject => ({
  ...{ apiVersion: "edge.dev/v1alpha1", kind: "EdgePolicy", metadata: meta(namespace, name) },
  spec: { targetRef: { group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: target }, ...keys },
});

let gateway: Gateway;
beforeAll(async () => {
  for (const [i, namespace] of ["web", "evil"].entries())
    api.put(
      { kind: "Namespace", metadata: { name: namespace } },
      { kind: "Service", metadata: meta(namespace, "app"), spec: { ports: [{ name: "http", port: 80 }] } },
      {
        ...{
          kind: "EndpointSlice",
          metadata: { ...meta(namespace, "app-1"), labels: { "kubernetes.io/service-name": "app" } },
        },
        ...{ addressType: "IPv4", ports: [{ name: "http", port: origins[i]!.port! }] },
        endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
      },
    );
  api.put(
    {
      apiVersion: GATEWAY,
      kind: "GatewayClass",
      metadata: { name: "edge" },
      spec: { controllerName: "edge.dev/gateway" },
    },
    secret("web", "pair", good.cert, good.key),
    gatewayOf("web", "public", [
      { name: "http", port: webPort, protocol: "HTTP" },
      {
        name: "https",
        port: tlsPort,
        protocol: "HTTPS",
        hostname: "a.example",
        tls: { certificateRefs: [{ name: "pair" }] },
      },
    ]),
    route("web", "app", "public", [{ backendRefs: to("app") }], { hostnames: ["a.example"] }),
    ingress("web", "shop", "a.example", {}, { tls: [{ hosts: ["a.example"], secretName: "pair" }] }),
    gatewayOf("evil", "own", [{ name: "http", port: evilPort, protocol: "HTTP" }]),
  );
  gateway = await startGateway({
    config: {
      internal_api: { listen: `127.0.0.1:${internal}` },
      providers: {
        kubernetes: { kubeconfig: "kubeconfig", addresses: ["127.0.0.120/29"], ingress_ports: { http, https } },
      },
    },
    routes: [],
    port: ownPort,
    files: { kubeconfig: api.kubeconfig("first") },
  });
});
afterAll(async () => {
  await stopAll(gateway);
  await api.away();
  for (const one of origins) await one.stop(true);
});

async function says(url: string, host = "a.example", headers: Readonly<Record<string, string>> = {}): Promise<string> {
  const tls = { ca: good.cert, serverName: host };
  const reply = await fetch(url, {
    headers: { ...headers, Host: host, Connection: "close" },
    redirect: "manual",
    tls,
  } as RequestInit);
  const text = await reply.text();
  return reply.status === 200 ? text : String(reply.status);
}
/** All that belongs to the other namespace serves, and its next change is taken up. */
let changes = 0;
async function isWell(what: string): Promise<void> {
  const path = `/late${++changes}`;
  const filters = [{ type: "RequestRedirect", requestRedirect: { statusCode: 302, hostname: "x.example" } }];
  api.put(
    route("web", "late", "public", [{ matches: [{ path: { value: path } }], filters }], { hostnames: ["a.example"] }),
  );
  const at = "127.0.0.121";
  const urls = [
    `http://${at}:${webPort}${path}`,
    `http://${at}:${webPort}/x`,
    `https://${at}:${tlsPort}/x`,
    `https://127.0.0.126:${https}/x`,
  ];
  await eventually(async () => {
    const all = await Promise.all(urls.map((url) => says(url).catch((error) => String(error.code ?? error))));
    expect([what, ...all]).toEqual([what, "302", "one /x", "one /x", "one /x"]);
  });
}

const CASES: Readonly<Record<string, readonly ClusterObject[]>> = {
  "a Secret whose key is another one's": [
    secret("evil", "pair", good.cert, others.key),
    gatewayOf("evil", "tls", [
      { name: "https", port: tlsPort, protocol: "HTTPS", tls: { certificateRefs: [{ name: "pair" }] } },
    ]),
  ],
  "a Secret with nothing between its marks": [
    secret(
      "evil",
      "hollow",
      "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
      "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n",
    ),
    gatewayOf("evil", "tls", [
      { name: "https", port: tlsPort, protocol: "HTTPS", tls: { certificateRefs: [{ name: "hollow" }] } },
    ]),
  ],
  "an Ingress with a certificate for the other one's host": [
    secret("evil", "mine", others.cert, others.key),
    ingress("evil", "cert", "e.example", {}, { tls: [{ hosts: ["a.example"], secretName: "mine" }] }),
  ],
  "an Ingress whose Secret's key is another one's": [
    secret("evil", "pair", good.cert, others.key),
    ingress("evil", "cert2", "e.example", {}, { tls: [{ hosts: ["q.example"], secretName: "pair" }] }),
  ],
  "an Ingress with odd names in tls": [
    secret("evil", "mine", others.cert, others.key),
    ingress(
      "evil",
      "cert3",
      "e.example",
      {},
      { tls: [{ hosts: ["*", "*.*.b", "a b", "x..y", "é.example"], secretName: "mine" }] },
    ),
  ],
  ...Object.fromEntries(
    ["constructor", "__proto__", "toString", "hasOwnProperty"].map((protocol) => [
      `a listener with the protocol ${protocol}`,
      [gatewayOf("evil", "odd", [{ name: "x", port: evilPort, protocol }])],
    ]),
  ),
  "a policy with keys of every object": [
    route("evil", "r", "own", [{ backendRefs: to("app") }]),
    policy(
      "evil",
      "p",
      "r",
      JSON.parse(
        '{"constructor": {}, "__proto__": {"x": 1}, "toString": {"a": "b"}, "auth": {"__proto__": {}, "constructor": {"name": "a"}}}',
      ),
    ),
  ],
  "values with line ends": [
    route("evil", "crlf", "own", [
      {
        backendRefs: to("app"),
        filters: [
          { type: "ResponseHeaderModifier", responseHeaderModifier: { set: [{ name: "X-A", value: "a\r\nX-B: 1" }] } },
        ],
      },
    ]),
  ],
  "a Gateway that asks for the other one's address": [
    gatewayOf("evil", "take", [{ name: "http", port: webPort, protocol: "HTTP" }], {
      addresses: [{ type: "IPAddress", value: "127.0.0.121" }],
    }),
  ],
  "a canary of the other one's host": [
    ingress("evil", "canary", "a.example", { canary: "true", "canary-weight": "100" }),
  ],
  "a pass-through of the other one's host": [
    gatewayOf("evil", "pass", [{ name: "tls", port: tlsPort, protocol: "TLS", tls: { mode: "Passthrough" } }]),
    {
      apiVersion: GATEWAY,
      kind: "TLSRoute",
      metadata: meta("evil", "pass"),
      spec: { parentRefs: [{ name: "pass" }], hostnames: ["a.example"], rules: [{ backendRefs: to("app") }] },
    },
  ],
  "client certificates by an authority that is none": [
    {
      kind: "ConfigMap",
      metadata: meta("evil", "ca"),
      data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n" },
    },
    secret("evil", "mine", others.cert, others.key),
    gatewayOf(
      "evil",
      "mtls",
      [{ name: "https", port: tlsPort, protocol: "HTTPS", tls: { certificateRefs: [{ name: "mine" }] } }],
      {
        tls: {
          frontend: { default: { validation: { caCertificateRefs: [{ kind: "ConfigMap", name: "ca", group: "" }] } } },
        },
      },
    ),
  ],
  "an authority of a backend that is none": [
    {
      apiVersion: GATEWAY,
      kind: "BackendTLSPolicy",
      metadata: meta("evil", "t"),
      spec: {
        targetRefs: [{ group: "", kind: "Service", name: "app" }],
        validation: { hostname: "x", caCertificateRefs: [{ kind: "ConfigMap", name: "ca", group: "" }] },
      },
    },
    {
      kind: "ConfigMap",
      metadata: meta("evil", "ca"),
      data: { "ca.crt": "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n" },
    },
    route("evil", "r", "own", [{ backendRefs: to("app") }]),
  ],
  "a stream at a port of the gateway's own": [
    gatewayOf("evil", "tcp", [
      { name: "tcp", port: internal, protocol: "TCP" },
      { name: "tcp2", port: ownPort, protocol: "TCP" },
      { name: "u", port: 70000, protocol: "UDP" },
      { name: "z", port: 0, protocol: "HTTP" },
    ]),
    {
      apiVersion: GATEWAY,
      kind: "TCPRoute",
      metadata: meta("evil", "tcp"),
      spec: { parentRefs: [{ name: "tcp" }], rules: [{ backendRefs: to("app") }] },
    },
  ],
  "weights from 1 to a million": [
    route("evil", "w", "own", [
      {
        backendRefs: [
          { name: "app", port: 80, weight: 1_000_000 },
          { name: "gone", port: 80, weight: 1 },
        ],
      },
    ]),
  ],
  "names of fields twice": [
    route("evil", "twice", "own", [
      {
        backendRefs: to("app"),
        filters: [
          {
            type: "RequestHeaderModifier",
            requestHeaderModifier: {
              set: [
                { name: "X-A", value: "1" },
                { name: "x-a", value: "2" },
                { name: "Host", value: "a" },
                { name: "Content-Length", value: "3" },
                { name: "Transfer-Encoding", value: "chunked" },
              ],
            },
          },
        ],
      },
    ]),
  ],
  "hundreds of rules": [
    route(
      "evil",
      "many",
      "own",
      Array.from({ length: 400 }, (_, i) => ({
        matches: [{ path: { type: i % 2 ? "Exact" : "PathPrefix", value: `/r${i}` } }],
        backendRefs: to("app"),
      })),
    ),
  ],
  "a TCP port of all, and addresses that are none": [
    gatewayOf("evil", "addr", [{ name: "http", port: webPort, protocol: "HTTP" }], {
      addresses: [{ type: "IPAddress", value: "x y" }, { type: "IPAddress" }, { type: "constructor", value: "q" }],
    }),
  ],
  "slices with odd addresses and ports": [
    {
      kind: "EndpointSlice",
      addressType: "IPv4",
      metadata: { ...meta("evil", "odd-1"), labels: { "kubernetes.io/service-name": "app" } },
      ports: [{ name: "http", port: 99_999_999 }],
      endpoints: [{ addresses: ["a b"], conditions: {} }, { addresses: ["/etc/passwd"] }, { addresses: ["[::1"] }],
    },
    route("evil", "r", "own", [{ backendRefs: to("app") }]),
  ],
};
const SPECS: readonly unknown[] = [
  "text",
  7,
  [],
  null,
  { listeners: "x", rules: "y", parentRefs: "z", targetRefs: 5, from: 1, to: 2, tls: 3, defaultBackend: "q" },
  {
    gatewayClassName: "edge",
    ingressClassName: "edge",
    controllerName: "edge.dev/gateway",
    parentRef: null,
    listeners: [null, 1, "x", {}],
    parentRefs: [null, {}, { name: "own" }, { name: 5 }],
    rules: [
      null,
      1,
      {},
      {
        matches: [null, {}, { path: 1, headers: "x", queryParams: [null] }],
        filters: [null, {}, { type: "RequestMirror" }],
        backendRefs: [null, {}, { name: 1 }],
        http: { paths: [null, 1] },
        host: 5,
      },
    ],
    hostnames: [1, null],
    tls: [null, { hosts: 5 }],
    targetRefs: [null, 1],
    targetRef: "x",
    from: [null],
    to: [null],
    addresses: [null, 1, { value: 5 }],
    ports: [null, 1],
    validation: { caCertificateRefs: [null], subjectAltNames: [null] },
    allowedListeners: 5,
    infrastructure: 5,
  },
];
const KINDS = [
  ...["Gateway", "ListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "ReferenceGrant", "BackendTLSPolicy"],
  ...["EdgePolicy", "Ingress", "IngressClass", "GatewayClass", "Service", "EndpointSlice", "Secret", "ConfigMap"],
];
const SHAPES = KINDS.flatMap((kind) => {
  const labels = kind === "EndpointSlice" ? { "kubernetes.io/service-name": "app" } : 5;
  return SPECS.map((spec, i): ClusterObject => {
    const place = kind.endsWith("Class") ? { name: `odd${i}` } : meta("evil", `odd${i}`);
    const lists =
      i % 2 === 1
        ? { endpoints: "x", ports: 5, data: 5 }
        : { endpoints: [null, 1, { addresses: [5] }], data: { a: 5 } };
    return { kind, apiVersion: GATEWAY, metadata: { ...place, labels }, addressType: "IPv4", spec, ...lists };
  });
});

test("nothing of one namespace takes another one's away, whatever shape it has", async () => {
  await isWell("nothing");
  for (const [what, objects] of Object.entries(CASES)) {
    api.put(...objects);
    await isWell(what);
    for (const one of objects) api.remove(one);
  }
  api.put(...SHAPES);
  await isWell("objects of any shape");
  const unreadable = () => api.events.filter(({ reason }) => reason === "Unreadable").length;
  await eventually(() => expect(unreadable()).toBeGreaterThan(KINDS.length));
  expect(gateway.logs.json.filter(({ event }) => event === "exception")).toEqual([]);
}, 30_000);
