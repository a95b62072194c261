// Manifests and the definition of EdgePolicy against a real API server, with the definitions of the Gateway API in it. KUBERNETES_ADMIN names the
// kubeconfig of an administrator, with a client certificate. docs/kubernetes.md#manifests
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { parse, parseAllDocuments } from "yaml";
import { EDGE_BINARY } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";

// biome-ignore lint/suspicious/noExplicitAny: manifests have the shape that their schemas say
type Manifest = any;

const kubeconfig = process.env.KUBERNETES_ADMIN ?? "";
if (kubeconfig === "") console.log("skipped: manifests need an API server: name its kubeconfig in KUBERNETES_ADMIN");

const PLURALS: Readonly<Record<string, string>> = {
  GatewayClass: "gatewayclasses",
  IngressClass: "ingressclasses",
  EdgePolicy: "edgepolicies",
  NetworkPolicy: "networkpolicies",
};

function access(): { readonly server: string; readonly tls: object } {
  const { clusters, users } = parse(readFileSync(kubeconfig, "utf8"));
  const [{ cluster }, { user }] = [clusters[0], users[0]];
  const part = (of: Manifest, key: string): Buffer =>
    of[`${key}-data`] === undefined ? readFileSync(of[key]) : Buffer.from(of[`${key}-data`], "base64");
  const tls = {
    ca: part(cluster, "certificate-authority"),
    cert: part(user, "client-certificate"),
    key: part(user, "client-key"),
  };
  return { server: cluster.server, tls };
}

/** @returns status and message */
async function apply(object: Manifest): Promise<[number, string]> {
  const { server, tls } = access();
  const { apiVersion, kind, metadata } = object;
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`;
  const path = `${base}${place}/${PLURALS[kind] ?? `${kind.toLowerCase()}s`}/${metadata.name}?fieldManager=edge-test&force=true`;
  // A definition that was just taken serves a moment later.
  for (let tries = 0; ; tries++) {
    const headers = { "Content-Type": "application/apply-patch+yaml" };
    const reply = await fetch(server + path, {
      method: "PATCH",
      headers,
      body: JSON.stringify(object),
      tls,
    } as RequestInit);
    const { message = "" } = (await reply.json()) as { readonly message?: string };
    if (reply.status !== 404 || tries === MOST_TRIES) return [reply.status, message];
    await Bun.sleep(100);
  }
}

const MOST_TRIES = 50;

async function printed(...flags: string[]): Promise<Manifest[]> {
  const run = await runProcess([EDGE_BINARY, "kubernetes", "manifests", ...flags], { timeout: 30_000 });
  expect([run.code, run.stderr]).toEqual([0, ""]);
  return parseAllDocuments(run.stdout, { version: "1.1" }).map((document) => document.toJS());
}

const policy = (keys: object): Manifest => ({
  apiVersion: "edge.dev/v1alpha1",
  kind: "EdgePolicy",
  metadata: { namespace: "edge", name: "of-a-test" },
  spec: { targetRef: { group: "gateway.networking.k8s.io", kind: "HTTPRoute", name: "shop" }, ...keys },
});

test.skipIf(kubeconfig === "")(
  "an API server takes all manifests, and policies by their schema",
  async () => {
    for (const flags of [[], ["--namespaces", "default", "--daemonset", "--ports", "8000"]])
      for (const object of await printed(...flags)) {
        const [status, message] = await apply(object);
        expect([object.kind, object.metadata.name, message]).toEqual([object.kind, object.metadata.name, ""]);
        expect([200, 201]).toContain(status);
      }
    const oidc = { issuer: "https://id.example.com", client_id: "a", client_secret: { name: "a", key: "b" } };
    for (const good of [
      { waf: { mode: "off" }, cache: { default_ttl: "5m" } },
      { rate_limit: { requests: 5 }, max_body_bytes: "8MiB" },
      { rate_limit: [{ requests: 5, window: "1m" }], auth: { oidc } },
    ])
      expect(await apply(policy(good))).toEqual([expect.any(Number), ""]);
    for (const bad of [
      { waf: { mode: "no" } },
      { rate_limit: { requests: 0 } },
      { targetRefs: [] },
      { cache: { default_ttl: [] } },
    ])
      expect([bad, (await apply(policy(bad)))[0]]).toEqual([bad, 422]);
  },
  60_000,
);
