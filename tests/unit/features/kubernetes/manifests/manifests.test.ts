import { describe, expect, test } from "bun:test";
import { parse, parseAllDocuments } from "yaml";
import { runKubernetes } from "../../../../../src/cli/kubernetes.ts";

// biome-ignore lint/suspicious/noExplicitAny: manifests have the shape that their schemas say
type Manifest = any;

function printed(...args: string[]): { readonly code: number; readonly out: string; readonly err: string } {
  const said = { out: "", err: "" };
  const io = { out: (text: string) => (said.out += text), err: (text: string) => (said.err += text) };
  return { code: runKubernetes(["manifests", ...args], io as never), ...said };
}

function objects(...args: string[]): Manifest[] {
  const { code, out, err } = printed(...args);
  expect([code, err]).toEqual([0, ""]);
  return parseAllDocuments(out).map((document) => document.toJS());
}

const kindsOf = (all: Manifest[]): string[] => all.map(({ kind }) => kind);
const one = (all: Manifest[], kind: string, name?: string): Manifest =>
  all.find((each) => each.kind === kind && (name === undefined || each.metadata.name === name));

describe("edge kubernetes manifests", () => {
  const all = objects();
  const pod = one(all, "Deployment").spec.template;
  const [container] = pod.spec.containers;

  test("prints what the gateway of a cluster needs", () => {
    expect(kindsOf(all)).toEqual([
      ...["CustomResourceDefinition", "Namespace", "ServiceAccount"],
      ...["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap", "Service", "Service"],
      ...["Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "NetworkPolicy"],
      ...["GatewayClass", "IngressClass"],
    ]);
    expect(one(all, "GatewayClass").spec.controllerName).toBe(one(all, "IngressClass").spec.controller);
    expect(JSON.parse(printed("--json", "--crd=false").out).items.map(({ kind }: Manifest) => kind)).toEqual(
      kindsOf(all).slice(1),
    );
  });

  test("pods have no rights beside their ports", () => {
    expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
    });
    const high = one(objects("--ports", "8000,8443"), "Deployment").spec.template.spec;
    expect(high.containers[0].securityContext.capabilities).toEqual({ drop: ["ALL"] });
    expect(high.securityContext).not.toHaveProperty("sysctls");
    const config = parse(one(objects("--ports", "8000,8443"), "ConfigMap").data["config.yaml"]);
    expect(config.providers.kubernetes.ingress_ports).toEqual({ http: 8000, https: 8443 });
  });

  test("ports, probes, selectors and times fit each other and the configuration", () => {
    const config = parse(one(all, "ConfigMap").data["config.yaml"]);
    const ports = new Map<string, number>(container.ports.map((port: Manifest) => [port.name, port.containerPort]));
    expect(ports.get("health")).toBe(config.server.port);
    expect(config.internal_api.listen).toBe(`0.0.0.0:${ports.get("internal")}`);
    for (const kind of ["startupProbe", "readinessProbe", "livenessProbe"])
      expect([...ports.keys()]).toContain(container[kind].httpGet.port);
    const seconds = (text: string): number => Number.parseInt(text, 10);
    const { drain_delay: drain, shutdown_timeout: shutdown } = config.server;
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(seconds(drain) + seconds(shutdown));
    const service = one(all, "Service", config.providers.kubernetes.service.split("/")[1]);
    expect(service.spec.ports.map(({ targetPort }: Manifest) => targetPort)).toEqual([80, 443]);
    for (const each of [service, one(all, "Service", "edge-internal")])
      expect(pod.metadata.labels).toMatchObject(each.spec.selector);
    const monitored = one(objects("--service-monitor"), "ServiceMonitor").spec.selector.matchLabels;
    expect(one(all, "Service", "edge-internal").metadata.labels).toMatchObject(monitored);
  });

  test("with namespaces, a Role in each reads Secrets, and nothing of the whole cluster does", () => {
    const some = objects("--namespaces", "shop,billing", "--namespace", "gate", "--crd=false");
    const reading = (kind: string): string[] =>
      some
        .filter((each) => each.kind === kind && each.rules.some((rule: Manifest) => rule.resources.includes("secrets")))
        .map(({ metadata }) => metadata.namespace);
    expect([reading("ClusterRole"), reading("Role")]).toEqual([[], ["shop", "billing"]]);
    expect(parse(one(some, "ConfigMap").data["config.yaml"]).providers.kubernetes.namespaces).toEqual([
      "shop",
      "billing",
    ]);
    // No rule is wider than it looks, and no one but the pods' account has any.
    const rules: Manifest[] = [...all, ...some].flatMap((each) => each.rules ?? []);
    expect(rules.filter((rule) => [...rule.verbs, ...rule.resources, ...rule.apiGroups].includes("*"))).toEqual([]);
    const writes = rules.filter(({ verbs }) => verbs.some((verb: string) => !["get", "list", "watch"].includes(verb)));
    expect(
      [...new Set(writes.flatMap(({ resources }) => resources))].filter((name) => !/\/status$/.test(name)),
    ).toEqual(["events", "leases"]);
    const bindings = some.filter(({ kind }) => /Binding$/.test(kind));
    expect(new Set(bindings.flatMap(({ subjects }) => subjects.map(({ namespace }: Manifest) => namespace)))).toEqual(
      new Set(["gate"]),
    );
  });

  test("--daemonset has no autoscaler", () => {
    const kinds = kindsOf(objects("--daemonset"));
    expect([
      kinds.includes("DaemonSet"),
      kinds.includes("Deployment"),
      kinds.includes("HorizontalPodAutoscaler"),
    ]).toEqual([true, false, false]);
  });

  test.each([
    ["--namespace", "Edge", "--namespace: Edge: a name has small letters, digits and dashes"],
    ["--namespaces", "a,b:c", "--namespaces: b:c: a name has small letters, digits and dashes"],
    ["--ports", "80,9090", "--ports: expected ports from 1 to 65535 and not 8080 or 9090, such as 80,443"],
    ["--image", "a b", "--image: expected the name of an image"],
    ["--service-type", "Elb", "--service-type"],
  ])("%s %s is refused", (flag, value, message) => {
    const { code, err } = printed(flag, value);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
