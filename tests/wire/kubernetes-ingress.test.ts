// docs/kubernetes-ingress.md: Ingresses and policies through the binary, by an API server that does as the test says.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ApiServer, type ClusterObject } from "../harness/api-server.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

const api = new ApiServer();
const [http, https] = [freePort(), freePort()];
const origins = ["one", "two"].map((name) =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => new Response(`${name} ${new URL(request.url).pathname}`),
  }),
);
const NS = "web";
const meta = (name: string) => ({ name, namespace: NS });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const HASH = await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 });
const { cert, key } = await makeCertificate();
const pair = (some: string): ClusterObject => ({
  ...{ kind: "Secret", metadata: meta("pair"), type: "kubernetes.io/tls" },
  data: { "tls.crt": base64(some), "tls.key": base64(some === cert ? key : some) },
});

function ingress(
  name: string,
  host: string,
  paths: Readonly<Record<string, string>>,
  more: object = {},
): ClusterObject {
  const { annotations = {}, tls } = more as { annotations?: Readonly<Record<string, string>>; tls?: object };
  const all = Object.entries(paths).map(([path, service]) => ({
    path,
    pathType: "Prefix",
    backend: { service: { name: service, port: { name: "http" } } },
  }));
  const notes = Object.entries(annotations).map(([key, value]) => [`nginx.ingress.kubernetes.io/${key}`, value]);
  return {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress" },
    metadata: { ...meta(name), annotations: Object.fromEntries(notes) },
    spec: { ingressClassName: "edge", ...(tls === undefined ? {} : { tls }), rules: [{ host, http: { paths: all } }] },
  };
}

const policy = (name: string, target: string, keys: object): ClusterObject => ({
  ...{ apiVersion: "edge.dev/v1alpha1", kind: "EdgePolicy", metadata: meta(name) },
  spec: { targetRef: { group: "networking.k8s.io", kind: "Ingress", name: target }, ...keys },
});

/** A Service with its endpoint. */
const backend = (name: string, i: number, namespace = NS): readonly ClusterObject[] => [
  { kind: "Service", metadata: { name, namespace }, spec: { ports: [{ name: "http", port: 80 }] } },
  {
    kind: "EndpointSlice",
    metadata: { name: `${name}-1`, namespace, labels: { "kubernetes.io/service-name": name } },
    ...{ addressType: "IPv4", ports: [{ name: "http", port: origins[i]!.port! }] },
    endpoints: [{ addresses: ["127.0.0.1"], conditions: { ready: true } }],
  },
];

let gateway: Gateway;
beforeAll(async () => {
  for (const [i, name] of ["one", "two"].entries()) api.put(...backend(name, i));
  api.put(
    { kind: "Namespace", metadata: { name: NS } },
    { kind: "Secret", metadata: meta("users"), data: { auth: base64(`alice:${HASH}\n`) } },
    pair(cert),
    ingress("plain", "a.example", { "/": "one", "/two": "two" }),
    ingress("next", "a.example", { "/": "two" }, { annotations: { canary: "true", "canary-by-header": "X-Next" } }),
    ingress("basic", "b.example", { "/": "one" }, { annotations: { "auth-type": "basic", "auth-secret": "users" } }),
    ingress("raw", "c.example", { "/": "one" }, { annotations: { "server-snippet": "deny all;" } }),
    ingress("tls", "d.example", { "/": "one" }, { tls: [{ hosts: ["d.example"], secretName: "pair" }] }),
    // As cert-manager has it, while another namespace would like to answer, too.
    ingress("solver", "d.example", { "/.well-known/acme-challenge/tok": "two" }),
    {
      ...ingress("thief", "d.example", { "/.well-known/acme-challenge/other": "one" }),
      metadata: { name: "thief", namespace: "evil" },
    },
    ...backend("one", 0, "evil"),
    ingress("policed", "e.example", { "/": "one" }),
    policy("policed", "policed", { auth: { basic: { users_secret: { name: "users", key: "auth" } } } }),
  );
  gateway = await startGateway({
    config: {
      providers: {
        kubernetes: { kubeconfig: "kubeconfig", addresses: ["127.0.0.84/32"], ingress_ports: { http, https } },
      },
    },
    routes: [],
    files: { kubeconfig: api.kubeconfig("first") },
  });
});
afterAll(async () => {
  await stopAll(gateway);
  await api.away();
  for (const one of origins) await one.stop(true);
});

const ALICE = { Authorization: `Basic ${btoa("alice:pw")}` };
async function says(
  host: string,
  path = "/",
  headers: Readonly<Record<string, string>> = {},
  scheme = "http",
): Promise<string> {
  const url = `${scheme}://127.0.0.84:${scheme === "http" ? http : https}${path}`;
  const tls = { rejectUnauthorized: false, serverName: host };
  // A connection of its own: listeners come and go.
  const fields = { ...headers, Host: host, Connection: "close" };
  const reply = await fetch(url, { headers: fields, redirect: "manual", tls } as RequestInit);
  const text = await reply.text();
  return reply.status === 200 ? text : `${reply.status} ${reply.headers.get("location") ?? ""}`.trim();
}
const becomes = (wanted: string, ...asked: Parameters<typeof says>) =>
  eventually(async () => expect(await says(...asked)).toBe(wanted));
const noted = () =>
  (api.events as { involvedObject?: { name: string }; reason?: string }[]).map(
    ({ involvedObject, reason }) => `${involvedObject?.name} ${reason}`,
  );

test("Ingresses serve, with their canary, users and certificate; a guard that is not carried is closed", async () => {
  await becomes("one /x", "a.example", "/x");
  expect([await says("a.example", "/two/x"), await says("a.example", "/twos")]).toEqual(["two /two/x", "one /twos"]);
  expect([await says("a.example", "/", { "X-Next": "always" }), await says("z.example")]).toEqual(["two /", "404"]);
  expect([await says("b.example"), await says("b.example", "/", ALICE)]).toEqual(["401", "one /"]);
  expect(await says("c.example")).toBe("503");
  expect([await says("d.example", "/x?y=1"), await says("d.example", "/x", {}, "https")]).toEqual([
    ...["308 https://d.example/x?y=1", "one /x"],
  ]);
  const challenge = "/.well-known/acme-challenge/";
  expect(await says("d.example", `${challenge}tok`)).toBe(`two ${challenge}tok`);
  expect(await says("d.example", `${challenge}other`)).not.toContain("one");
  expect(await says("d.example", `${challenge}other`, {}, "https")).not.toContain("one");
  expect([await says("e.example"), await says("e.example", "/", ALICE)]).toEqual(["401", "one /"]);
  await eventually(() => {
    expect(api.get("Ingress", "plain")?.status).toEqual({ loadBalancer: { ingress: [{ ip: "127.0.0.84" }] } });
    expect(noted()).toContain("raw AnnotationRefused");
  });
});

test("changes are taken up: annotations, policies that turn faulty, a certificate that is none any more", async () => {
  api.put(ingress("plain", "a.example", { "/": "two" }, { annotations: { "denylist-source-range": "127.0.0.0/8" } }));
  await becomes("403", "a.example");
  api.put(policy("policed", "policed", { auth: { basic: { users: { alice: "plain" } } } }));
  await becomes("503", "e.example", "/", ALICE);
  await eventually(() => {
    const { ancestors } = api.get("EdgePolicy", "policed")!.status as {
      ancestors: { conditions: { reason: string }[] }[];
    };
    expect(ancestors[0]!.conditions[0]!.reason).toBe("Invalid");
  });
  api.put(pair("none"));
  await eventually(() => expect(noted()).toContain("tls CertificateInvalid"));
  expect(await says("d.example", "/x", {}, "https")).toBe("one /x");
  api.remove(ingress("raw", "c.example", {}));
  await becomes("404", "c.example");
});
