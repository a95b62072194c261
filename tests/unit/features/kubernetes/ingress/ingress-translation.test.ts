import { describe, expect, test } from "bun:test";
import {
  ANNOTATION_PREFIX,
  ANNOTATION_ROWS,
  annotationRow,
} from "../../../../../src/features/kubernetes/ingress/annotation-rows.ts";
import { translatedIngresses } from "../../../../../src/features/kubernetes/ingress/ingress-translation.ts";
import type { KubeObject, RouteInput, Translation } from "../../../../../src/features/kubernetes/objects.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { makeCertificate } from "../../../../harness/certificate.ts";
import { CLUSTER_SETTINGS, objectOf, routeFaults, serviceOf, storeOf } from "../../../../harness/cluster-objects.ts";

const HASH = "$2y$10$EBOqD2jX7qdlirb.F7pwBe2yDake26gpiTCuY04uyn.YdYxKoE.B2";
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const { cert, key } = await makeCertificate();
const COMMON: readonly KubeObject[] = [
  objectOf({ kind: "IngressClass", name: "edge", spec: { controller: "edge.dev/gateway" } }),
  ...serviceOf("web", "10.244.0.5", "10.244.0.6"),
  ...serviceOf("new", "10.244.0.7"),
  ...serviceOf("spare", "10.244.0.8"),
  ...serviceOf("none"),
  objectOf({ kind: "Secret", name: "users", data: { auth: base64(`alice:${HASH}\n`) } }),
  objectOf({ kind: "Secret", name: "map", data: { bob: base64(HASH) } }),
  objectOf({ kind: "Secret", name: "weak", data: { auth: base64("alice:$apr1$abc$def") } }),
  objectOf({ kind: "ConfigMap", name: "fields", data: { "X-Team": "blue" } }),
  objectOf({
    kind: "Secret",
    name: "pair",
    type: "kubernetes.io/tls",
    data: { "tls.crt": base64(cert), "tls.key": base64(key) },
  }),
];

interface PathShape {
  readonly path?: string;
  readonly pathType?: string;
  readonly service?: string;
  readonly port?: object;
}

function ingress(
  name: string,
  host: string,
  paths: readonly PathShape[],
  more: Record<string, unknown> = {},
): KubeObject {
  const { annotations = {}, born = 0, spec = {}, ...rest } = more as never as Record<string, never>;
  const http = {
    paths: paths.map(({ path = "/", pathType = "Prefix", service = "web", port = { number: 80 } }) => ({
      path,
      pathType,
      backend: { service: { name: service, port } },
    })),
  };
  const prefixed = Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [key.includes("/") ? key : ANNOTATION_PREFIX + key, value]),
  ) as Record<string, string>;
  const rules = [{ ...(host === "" ? {} : { host }), http }];
  return objectOf({
    kind: "Ingress",
    name,
    born,
    annotations: prefixed,
    spec: { ingressClassName: "edge", rules, ...(spec as object) },
    ...rest,
  });
}

function translated(...objects: readonly KubeObject[]): Translation {
  const store = storeOf(...COMMON, ...objects);
  const result = translatedIngresses(store, CLUSTER_SETTINGS, new PolicyTable(store, (keys) => ({ keys, faults: [] })));
  for (const { routes, name } of result.routes) expect([name, routeFaults(routes)]).toEqual([name, []]);
  return result;
}

const inSpec = (keys: object): object => ({
  spec: { ...keys },
});
const routesOf = (result: Translation): RouteInput[] => result.routes.flatMap(({ routes }) => [...routes]);
const said = (result: Translation): string[] =>
  result.events.map(({ reason, object, message }) => `${object.name} ${reason} ${message}`);
const HTTP = ["k8s-http-0.0.0.0-80"];
const HTTPS = ["k8s-tls-0.0.0.0-443"];
const targets = (...hosts: string[]): object[] => hosts.map((host) => ({ url: `http://10.244.0.${host}:8080` }));
const TLS = { spec: { tls: [{ hosts: ["a.example"], secretName: "pair" }] } };

describe("an Ingress", () => {
  test("has hosts, paths by their type, Services by number and name of a port", () => {
    const result = translated(
      ingress("a", "A.example", [
        { path: "/exact", pathType: "Exact" },
        { path: "/shop/", pathType: "Prefix", port: { name: "http" } },
        { path: "/", pathType: "ImplementationSpecific", service: "new" },
      ]),
      ingress("b", "*.b.example", [{}]),
      ingress("c", "", [{}]),
    );
    const common = { type: "upstream", strip_prefix: false, listeners: HTTP };
    const own = { ...common, hosts: ["a.example"], acme_challenge: "upstream" };
    expect(routesOf(result)).toEqual([
      { ...own, path: "/exact", targets: targets("5", "6") },
      { ...own, prefix: "/shop", targets: targets("5", "6") },
      { ...own, prefix: "/", targets: targets("7") },
      { ...common, hosts: ["*.b.example"], prefix: "/", targets: targets("5", "6") },
      { ...common, prefix: "/", targets: targets("5", "6") },
    ]);
    expect(result.listeners).toEqual([{ name: HTTP[0]!, address: "0.0.0.0:80" }]);
    expect(result.statuses[0]!.status).toEqual({ loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } });
    expect(said(result)).toEqual([]);
  });

  test("is served by its class, by the annotation of before, or by the default class", () => {
    const classed = (name: string, of: object, annotations = {}): KubeObject =>
      ingress(name, `${name}.example`, [{}], { annotations, ...inSpec(of) });
    const all = [
      classed("ours", {}),
      classed("other", { ingressClassName: "nginx" }),
      classed("legacy", { ingressClassName: undefined }, { "kubernetes.io/ingress.class": "edge" }),
      classed("foreign", { ingressClassName: undefined }, { "kubernetes.io/ingress.class": "nginx" }),
      classed("none", { ingressClassName: undefined }),
      classed("named", { ingressClassName: "public" }),
    ];
    const names = (...more: readonly KubeObject[]): string[] =>
      translated(...all, ...more).routes.map(({ object }) => object.name);
    expect(names().sort()).toEqual(["legacy", "ours"]);
    const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
    const usual = objectOf({
      kind: "IngressClass",
      name: "public",
      annotations,
      spec: { controller: "edge.dev/gateway" },
    });
    expect(names(usual).sort()).toEqual(["legacy", "named", "none", "ours"]);
    const stolen = objectOf({ kind: "IngressClass", name: "edge", spec: { controller: "k8s.io/ingress-nginx" } });
    expect(names(stolen)).toEqual([]);
  });

  test("with TLS has a listener with its certificate, and redirects clear text", () => {
    const result = translated(ingress("a", "a.example", [{}], TLS), ingress("b", "b.example", [{}]));
    expect(routesOf(result).map(({ type, hosts, listeners, to }) => ({ type, hosts, listeners, to }))).toEqual([
      { type: "redirect", hosts: ["a.example"], listeners: HTTP, to: "https://{host}{uri}" },
      { type: "upstream", hosts: ["a.example"], listeners: HTTPS, to: undefined },
      { type: "upstream", hosts: ["b.example"], listeners: [...HTTP, ...HTTPS], to: undefined },
    ]);
    const secret = { kind: "Secret", namespace: "default", name: "pair" };
    expect(result.listeners[1]).toMatchObject({ tls: { certificates: [{ names: ["a.example"], secret }] } });
    const open = translated(ingress("a", "a.example", [{}], { ...TLS, annotations: { "ssl-redirect": "false" } }));
    expect(routesOf(open).map(({ listeners }) => listeners)).toEqual([[...HTTP, ...HTTPS]]);
  });

  test("whose certificate is none says so, and is not served in clear text", () => {
    const spec = { tls: [{ hosts: ["a.example"], secretName: "users" }] };
    const result = translated(ingress("a", "a.example", [{}], { spec }));
    expect(routesOf(result).map(({ type }) => type)).toEqual(["redirect"]);
    expect(said(result)).toEqual(["a CertificateInvalid the Secret default/users is no certificate with its key"]);
  });

  test("keeps the certificate that it had while its Secret is no pair", () => {
    const store = storeOf(...COMMON, ingress("a", "a.example", [{}], TLS));
    const translate = (): Translation =>
      translatedIngresses(store, CLUSTER_SETTINGS, new PolicyTable(store, (keys) => ({ keys, faults: [] })));
    const secret = store.get("Secret", "default", "pair")!;
    expect(translate().listeners).toHaveLength(2);
    store.put({ ...secret, data: { "tls.crt": base64("none"), "tls.key": base64("none") } } as never);
    const kept = translate();
    expect([kept.listeners.length, routesOf(kept).map(({ type }) => type)]).toEqual([2, ["redirect", "upstream"]]);
    expect(said(kept)).toEqual([
      "a CertificateInvalid the Secret default/pair is no certificate with its key: the one of before serves",
    ]);
    store.remove("Secret", "default", "pair");
    expect(translate().listeners).toHaveLength(1);
  });

  test("has a default backend, for its hosts without paths as well", () => {
    const spec = {
      defaultBackend: { service: { name: "new", port: { number: 80 } } },
      rules: [{ host: "a.example", http: { paths: [] } }, { host: "b.example" }],
    };
    const routes = routesOf(translated(ingress("a", "", [], { spec })));
    expect(routes.map(({ hosts, prefix, targets: to }) => [hosts, prefix, to])).toEqual([
      [["b.example"], "/", targets("7")],
      [undefined, "/", targets("7")],
    ]);
  });

  test("that comes later does not get the path of an older one", () => {
    const result = translated(
      ingress("young", "a.example", [{ service: "new" }, { path: "/own", service: "new" }], { born: 9 }),
      ingress("old", "a.example", [{}], { born: 1 }),
    );
    expect(result.routes.map(({ name, routes }) => [name, routes.map(({ prefix }) => prefix)])).toEqual([
      ["Ingress default/old", ["/"]],
      ["Ingress default/young", ["/own"]],
    ]);
    expect(said(result)).toEqual(["young PathConflict a.example / belongs to the older Ingress default/old"]);
  });

  test("at one address with Gateways, a host of an older route of another namespace is none of an Ingress: no path, alias or certificate", () => {
    const shared = [
      objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: "edge.dev/gateway" } }),
      objectOf({ kind: "Gateway", namespace: "web", name: "public", spec: { gatewayClassName: "edge" } }),
      objectOf({
        ...{ kind: "HTTPRoute", namespace: "shop", name: "app", born: 1 },
        spec: { parentRefs: [{ name: "public", namespace: "web" }], hostnames: ["a.example"] },
      }),
    ];
    const objects = [
      ingress("thief", "a.example", [{}], { ...TLS, born: 2 }),
      ingress("alias", "b.example", [{}], { born: 2, annotations: { "server-alias": "a.example" } }),
    ];
    const hosts = (result: Translation) => routesOf(result).map((route) => route.hosts);
    const result = translated(...shared, ...objects);
    expect(hosts(result)).toEqual([["b.example"]]);
    expect(said(result)).toContain("thief PathConflict a.example belongs to the older HTTPRoute shop/app");
    expect(result.listeners).toHaveLength(1);
    expect(hosts(translated(...objects))).toContainEqual(["a.example"]);
  });

  test("without a server answers 503, and says why", () => {
    const resource = { resource: { apiGroup: "k8s.example", kind: "Bucket", name: "b" } };
    const result = translated(
      ingress("a", "a.example", [{ service: "none" }]),
      ingress("b", "b.example", [{ service: "gone" }]),
      ingress("c", "c.example", [{ port: { number: 81 } }]),
      ingress("d", "d.example", [], { spec: { defaultBackend: resource } }),
    );
    expect(routesOf(result).map(({ type, status }) => [type, status])).toEqual(Array(4).fill(["respond", 503]));
    expect(said(result)).toEqual([
      "b BackendNotFound Service default/gone, port 80: no service",
      "c BackendNotFound Service default/web, port 81: no port",
      "d ResourceBackend a backend of the kind Bucket is not served: name a Service",
    ]);
  });

  test.each(["/a*b", "/a?b", "/{uri}", "/a b"])("leaves the path %s out alone", (path) => {
    const result = translated(ingress("a", "a.example", [{ path }, { path: "/b" }]));
    expect(routesOf(result).map(({ prefix }) => prefix)).toEqual(["/b"]);
    expect(said(result)).toEqual([`a PathInvalid ${path}: expected a path of plain characters`]);
  });

  test("with an expression that is none is left out alone", () => {
    const result = translated(
      ingress("a", "a.example", [{ path: "/(" }, { path: "/b/(\\d+)" }], { annotations: { "use-regex": "true" } }),
    );
    expect(routesOf(result).map(({ regex }) => regex)).toEqual(["^(?i:/b/(\\d+))"]);
    expect(said(result)[0]).toContain("a PathInvalid /(");
  });
});

describe("a canary", () => {
  const main = ingress("main", "a.example", [{}]);
  const canary = (annotations: object): KubeObject =>
    ingress("next", "a.example", [{ service: "new" }], { born: 5, annotations: { canary: "true", ...annotations } });

  test("takes its share, its header and its cookie of the other Ingress, in this order", () => {
    const shown = (annotations: object): unknown[] =>
      routesOf(translated(main, canary(annotations))).map(({ match, targets: to }) => [match, (to as object[]).length]);
    expect(shown({ "canary-weight": "20" })).toEqual([
      [{ share: "20%" }, 1],
      [undefined, 2],
    ]);
    expect(shown({ "canary-by-header": "X-Next", "canary-by-cookie": "next", "canary-weight": "100" })).toEqual([
      [{ header: { "X-Next": "never" } }, 2],
      [{ header: { "X-Next": "always" } }, 1],
      [{ cookie: { next: "never" } }, 2],
      [{ cookie: { next: "always" } }, 1],
      [undefined, 1],
    ]);
    expect(shown({ "canary-by-header": "X-Next", "canary-by-header-pattern": "^b" })).toEqual([
      [{ header: { "X-Next": "/^b/" } }, 1],
      [undefined, 2],
    ]);
  });

  test("of nothing says so", () => {
    const result = translated(canary({ "canary-weight": "20" }));
    expect([routesOf(result), said(result)]).toEqual([
      [],
      ["next CanaryWithoutMain no other Ingress serves a.example /"],
    ]);
  });
});

describe("annotations of ingress-nginx", () => {
  const names = Object.keys(ANNOTATION_ROWS);
  const tried = (annotations: Readonly<Record<string, string>>): Translation => {
    const { tls, ...others } = annotations;
    const canary = "canary" in annotations;
    const path = "use-regex" in annotations ? "/x/(.*)" : "/";
    const one = ingress("a", "a.example", [{ path, service: canary ? "new" : "web" }], {
      annotations: others,
      born: 5,
      ...(tls === undefined ? {} : TLS),
    });
    return canary ? translated(ingress("main", "a.example", [{ path }]), one) : translated(one);
  };

  test("are a hundred at least", () => expect(names.length).toBeGreaterThan(100));

  test.each(names)("%s", (name) => {
    const { fate, isGuard, sample, with: others = {} } = annotationRow(name)!;
    const result = tried({ ...others, [name]: name === "default-backend" ? "spare" : sample });
    const own = said(result).filter((line) => line.includes(`${ANNOTATION_PREFIX}${name}:`));
    if (fate === "carried") {
      const without = tried(others);
      expect(own).toEqual([]);
      if (name !== "canary" && name !== "default-backend")
        expect(JSON.stringify(result.routes)).not.toBe(JSON.stringify(without.routes));
    } else if (fate === "standard") expect(own).toEqual([]);
    else {
      expect(own[0]).toStartWith(`a ${isGuard ? "AnnotationRefused" : "AnnotationIgnored"}`);
      const served = isGuard ? [["respond", 503]] : [["upstream", undefined]];
      expect(routesOf(result).map(({ type, status }) => [type, status])).toEqual(served as never);
    }
  });

  test.each([
    ["whitelist-source-range", "10.0.0.0/8, house"],
    ["whitelist-source-range", ""],
    ["denylist-source-range", "300.1.1.1"],
    ["auth-type", "digest"],
    ["auth-secret", "users"],
    ["auth-url", "https://$host/verify"],
    ["auth-url", "http://169.254.169.254/latest/meta-data"],
    ["auth-url", "http://[::ffff:127.0.0.1]:8080/internal/api/drain"],
    ["auth-url", "http://2130706433/"],
    ["enable-modsecurity", "maybe"],
    ["auth-of-tomorrow", "x"],
    ["custom-allow-rule", "x"],
  ])("%s: %s is a guard that is not carried: nothing of the Ingress serves", (name, value) => {
    const result = tried({ [name]: value });
    expect(routesOf(result).map(({ type, status }) => [type, status])).toEqual([["respond", 503]]);
    expect(said(result)[0]).toContain("AnnotationRefused");
  });

  test.each([["weak"], ["gone"], ["other/users"]])("auth-secret: %s lets nobody in", (secret) => {
    const result = tried({ "auth-type": "basic", "auth-secret": secret });
    expect(routesOf(result).map(({ type }) => type)).toEqual(["respond"]);
    expect(said(result).join()).not.toContain("$apr1$");
  });

  test("say what routes have", () => {
    const keysOf = (annotations: Readonly<Record<string, string>>): RouteInput => routesOf(tried(annotations))[0]!;
    expect(keysOf({ "auth-type": "basic", "auth-secret": "users", "auth-realm": "Shop" })).toMatchObject({
      auth: { basic: { users: { alice: HASH }, realm: "Shop" } },
    });
    expect(keysOf({ "auth-type": "basic", "auth-secret": "map", "auth-secret-type": "auth-map" })).toMatchObject({
      auth: { basic: { users: { bob: HASH } } },
    });
    expect(keysOf({ "limit-rps": "5", "limit-rpm": "60", "limit-burst-multiplier": "2" })).toMatchObject({
      rate_limit: [
        { requests: 5, window: "1s", burst: 10, status: 503 },
        { requests: 60, window: "1m", burst: 120, status: 503 },
      ],
    });
    expect(keysOf({ "use-regex": "true", "rewrite-target": "/api/$1" })).toMatchObject({
      regex: "^(?i:/x/(.*))",
      rewrite: { path: "/api/{match.1}" },
    });
    expect(keysOf({ "proxy-body-size": "0", "proxy-read-timeout": "90" })).toMatchObject({
      max_body_bytes: "unlimited",
      timeouts: { response_header: "90s", idle: "90s" },
    });
    expect(keysOf({ "backend-protocol": "GRPCS" })).toMatchObject({
      targets: [{ url: "h2://10.244.0.5:8080" }, { url: "h2://10.244.0.6:8080" }],
      tls: { insecure_skip_verify: true },
    });
    expect(keysOf({ "service-upstream": "true" })).toMatchObject({ targets: [{ url: "http://10.96.0.9:80" }] });
    expect(keysOf({ "permanent-redirect": "https://$host$request_uri" })).toMatchObject({
      type: "redirect",
      to: "https://{host}{uri}",
      status: 301,
    });
    expect(routesOf(tried({ "server-alias": "b.example, c.example" }))[0]).toMatchObject({
      hosts: ["a.example", "b.example", "c.example"],
    });
  });

  test("an alias leads to one host: the first of the oldest Ingress that names it, and no host of a rule", () => {
    const annotations = { "server-alias": "Shared.example, b.example" };
    const rules = ["b.example", "c.example"].map((host) => ({
      host,
      http: { paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "web", port: { number: 80 } } } }] },
    }));
    const result = translated(
      ingress("old", "a.example", [{}], { annotations, born: 1 }),
      ingress("new", "", [], { annotations, born: 2, spec: { rules } }),
      ingress("two", "", [], {
        annotations: { "server-alias": "d.example" },
        born: 3,
        spec: { rules: rules.map((rule, i) => ({ ...rule, host: `two-${i}.example` })) },
      }),
    );
    expect(routesOf(result).map(({ hosts }) => hosts)).toEqual([
      ["a.example", "shared.example"],
      ["b.example"],
      ["c.example"],
      ["two-0.example", "d.example"],
      ["two-1.example"],
    ]);
    expect(said(result)).toEqual([
      `old AnnotationIgnored ${ANNOTATION_PREFIX}server-alias: b.example leads to another Ingress`,
      `new AnnotationIgnored ${ANNOTATION_PREFIX}server-alias: Shared.example leads to another Ingress`,
    ]);
  });
});
