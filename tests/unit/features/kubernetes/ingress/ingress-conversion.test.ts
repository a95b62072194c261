import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { runConvert } from "../../../../../src/cli/convert.ts";
import { judgePolicy } from "../../../../../src/features/kubernetes/control/policy-judge.ts";
import { translatedGateways } from "../../../../../src/features/kubernetes/gateway/translation.ts";
import type { KubeObject } from "../../../../../src/features/kubernetes/objects.ts";
import { PolicyTable } from "../../../../../src/features/kubernetes/policy/policy-table.ts";
import { CLUSTER_SETTINGS, objectOf, routeFaults, serviceOf, storeOf } from "../../../../harness/cluster-objects.ts";

// biome-ignore lint/suspicious/noExplicitAny: resources have the shape that their schemas say
type Resource = any;

function converted(text: string, ...flags: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "edge-ingress-"));
  const said = { out: "", err: "" };
  const io = { out: (some: string) => (said.out += some), err: (some: string) => (said.err += some) };
  try {
    const file = join(folder, "all.yaml");
    writeFileSync(file, text);
    return { code: runConvert(["ingress", file, ...flags], io as never), ...said };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** An Ingress of the namespace shop. */
function ingress(
  name: string,
  host: string,
  paths: string,
  annotations: Readonly<Record<string, string>> = {},
  more = "",
): string {
  const notes = Object.entries(annotations).map(
    ([key, value]) => `    nginx.ingress.kubernetes.io/${key}: ${JSON.stringify(value)}`,
  );
  return [
    "apiVersion: networking.k8s.io/v1",
    "kind: Ingress",
    `metadata:\n  name: ${name}\n  namespace: shop\n  annotations: ${notes.length === 0 ? "{}" : `\n${notes.join("\n")}`}`,
    `spec:\n  ingressClassName: nginx\n${more}  rules:\n    - host: ${host}\n      http:\n        paths:`,
    ...paths.split(" ").map((each) => {
      const [path, type, service] = each.split(",");
      return `          - {path: ${path}, pathType: ${type}, backend: {service: {name: ${service}, port: {number: 80}}}}`;
    }),
    "---\n",
  ].join("\n");
}

/** What is printed, what is lost, and the routes that edge makes of it. */
function result(...texts: string[]) {
  const { code, out } = converted(texts.join(""), "--json");
  expect(code).toBe(0);
  const { objects, lost } = JSON.parse(out) as { objects: Resource[]; lost: { what: string; why: string }[] };
  const common = [
    objectOf({ kind: "GatewayClass", name: "edge", spec: { controllerName: "edge.dev/gateway" } }),
    objectOf({ kind: "Namespace", name: "shop" }),
    objectOf({ kind: "Namespace", name: "edge" }),
    ...[...serviceOf("web", "10.244.0.5"), ...serviceOf("new", "10.244.0.6")].map((one) => ({
      ...one,
      metadata: { ...one.metadata, namespace: "shop" },
    })),
  ];
  const store = storeOf(...common, ...(objects as KubeObject[]));
  const policies = new PolicyTable(store, judgePolicy);
  const { routes: groups } = translatedGateways(store, CLUSTER_SETTINGS, policies);
  for (const { name, routes } of groups) expect([name, routeFaults(routes)]).toEqual([name, []]);
  const accepted = policies
    .statuses("edge.dev/gateway")
    .map(({ status }) => (status as Resource).ancestors[0].conditions[0].reason);
  return {
    objects,
    accepted,
    kinds: objects.map(({ kind }) => kind),
    lost: lost.map(({ what }) => what.replace("nginx.ingress.kubernetes.io/", "")),
    routes: groups.flatMap(({ routes }) => [...routes]),
    rules: (name: string): Resource[] =>
      objects.find((one) => one.kind === "HTTPRoute" && one.metadata.name === name).spec.rules,
  };
}

const TLS = "  tls: [{hosts: [a.example], secretName: pair}]\n";

describe("edge convert ingress", () => {
  test("makes a Gateway, routes, grants and policies that edge serves as they are", () => {
    const made = result(
      ingress("shop", "a.example", "/,Prefix,web /new,Exact,new", { "proxy-body-size": "8m", "limit-rps": "5" }, TLS),
    );
    expect(made.kinds).toEqual(["Gateway", "ReferenceGrant", "HTTPRoute", "HTTPRoute", "EdgePolicy"]);
    expect(made.objects[0].spec.listeners.map(({ name, hostname }: Resource) => [name, hostname])).toEqual([
      ["http", undefined],
      ["https-1", "a.example"],
    ]);
    expect(made.objects[4].spec).toMatchObject({
      targetRefs: [{ kind: "HTTPRoute", name: "shop" }],
      max_body_bytes: "8MiB",
      rate_limit: [{ requests: 5, window: "1s", burst: 25, status: 503 }],
    });
    expect([made.accepted, made.lost]).toEqual([["Accepted"], []]);
    expect(made.routes.map(({ type }) => type)).toContain("redirect");
  });

  test("carries rewrites, redirects and canaries as filters and weights", () => {
    const made = result(
      ingress("api", "a.example", "/api(/|$)(.*),ImplementationSpecific,web", {
        "use-regex": "true",
        "rewrite-target": "/v1/$2",
      }),
      ingress("old", "b.example", "/,Prefix,web", { "permanent-redirect": "https://new.example/x" }),
      ingress("main", "c.example", "/,Prefix,web"),
      ingress("next", "c.example", "/,Prefix,new", {
        canary: "true",
        "canary-weight": "10",
        "canary-by-header": "X-Next",
      }),
      ingress("root", "d.example", "/,Prefix,web", { "app-root": "/home", "from-to-www-redirect": "true" }),
    );
    expect(made.rules("api")).toEqual([
      {
        matches: [{ path: { type: "PathPrefix", value: "/api" } }],
        filters: [
          { type: "URLRewrite", urlRewrite: { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/v1" } } },
        ],
        backendRefs: [{ name: "web", port: 80 }],
      },
    ]);
    expect(made.rules("old")[0].filters[0].requestRedirect).toEqual({
      scheme: "https",
      hostname: "new.example",
      path: { type: "ReplaceFullPath", replaceFullPath: "/x" },
      statusCode: 301,
    });
    expect(made.rules("main").map(({ matches, backendRefs }) => [matches[0].headers?.[0].value, backendRefs])).toEqual([
      ["always", [{ name: "new", port: 80 }]],
      ["never", [{ name: "web", port: 80 }]],
      [
        undefined,
        [
          { name: "web", port: 80, weight: 9000 },
          { name: "new", port: 80, weight: 1000 },
        ],
      ],
    ]);
    expect(made.rules("root")[0].filters[0].requestRedirect.path.replaceFullPath).toBe("/home");
    expect(made.rules("root-www")[0].filters[0].requestRedirect.hostname).toBe("d.example");
    expect(made.lost).toEqual([]);
  });

  test("names what is lost, and closes a path whose guard is lost", () => {
    const made = result(
      ingress("a", "a.example", "/,Prefix,web", { "configuration-snippet": "deny all;" }),
      ingress("b", "b.example", "/(x)/(y),ImplementationSpecific,web", { "rewrite-target": "/$2/$1" }),
      ingress("c", "c.example", "/,Prefix,web", {
        "backend-protocol": "HTTPS",
        "mirror-target": "https://copy.example",
      }),
      ingress("d", "d*.example", "/,Prefix,web"),
      ingress("e", "e.example", "/a*b,Prefix,web"),
    );
    expect(made.rules("a")).toEqual([{ matches: [{ path: { type: "PathPrefix", value: "/" } }] }]);
    expect(made.routes.filter(({ hosts }) => (hosts as string[] | undefined)?.[0] === "a.example")[0]).toMatchObject({
      type: "respond",
      status: 500,
    });
    expect(made.kinds).toEqual(["Gateway", "HTTPRoute", "BackendTLSPolicy", "HTTPRoute"]);
    expect(made.lost).toEqual([
      ...[
        "configuration-snippet",
        "path /(x)/(y)",
        "backend-protocol",
        "mirror-target",
        "host d*.example",
        "path /a*b",
      ],
    ]);
  });

  test("keeps passwords in their Secret", () => {
    const made = result(ingress("a", "a.example", "/,Prefix,web", { "auth-type": "basic", "auth-secret": "users" }));
    expect(made.objects.at(-1).spec.auth).toEqual({ basic: { users_secret: { name: "users", key: "auth" } } });
    // The Secret is not in the file: until it is in the cluster, nothing serves.
    expect(made.accepted).toEqual(["Invalid"]);
  });

  test("prints YAML with the losses as comments, and reads lists", () => {
    const list = {
      apiVersion: "v1",
      kind: "List",
      items: [parseAllDocuments(ingress("a", "a.example", "/,Prefix,web", { "server-snippet": "x" }))[0]!.toJS()],
    };
    const { code, out, err } = converted(JSON.stringify(list));
    expect([code, err]).toEqual([0, "1 Ingress: 2 objects; 1 lost, named at the end.\n"]);
    expect(out).toContain("# Lost:\n# shop/a: nginx.ingress.kubernetes.io/server-snippet: raw text of nginx");
    expect(parseAllDocuments(out).map((document) => document.errors)).toEqual([[], []]);
  });

  test.each([
    ["kind: Service\nmetadata: {name: a}\n", 1, "edge convert ingress: there is no Ingress to convert\n"],
    ["a: [\n", 1, "all.yaml:"],
    ["just words", 1, "there is no Ingress"],
    ["kind: Ingress\nmetadata: {name: a}\n", 0, "1 Ingress: 1 object; 0 lost"],
    ["kind: Ingress\nmetadata: {name: a}\nspec: {rules: [{http: {paths: [{}]}}], tls: [{}]}\n", 0, "1 Ingress"],
  ])("%p: %d", (text, code, message) => {
    const found = converted(text);
    expect([found.code, found.err]).toEqual([code, expect.stringContaining(message)]);
  });

  test("--gateway takes namespace/name", () => {
    expect(converted("kind: Ingress\n", "--gateway", "edge").code).toBe(2);
  });
});
