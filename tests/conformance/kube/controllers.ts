import type { AdminApi, Any, Item } from "./api.ts";

const MANAGED = "endpointslice.kubernetes.io/managed-by=harness";
/** Collections that go with a namespace. */
const OWNED = [
  ...["pods", "services", "secrets", "configmaps"].map((name) => ["/api/v1", name]),
  ["/apis/apps/v1", "deployments"],
  ["/apis/discovery.k8s.io/v1", "endpointslices"],
  ...["gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes", "referencegrants"]
    .concat("backendtlspolicies")
    .map((name) => ["/apis/gateway.networking.k8s.io/v1", name]),
] as const;

/** In the place of kube-controller-manager: pods of Deployments, EndpointSlices of Services, the end of namespaces. */
export async function runControllers(api: AdminApi): Promise<never> {
  for (;;) {
    try {
      const pods = await api.list("/api/v1/pods");
      await deployments(api, pods);
      await services(api, pods);
      await namespaces(api);
    } catch (error) {
      console.error(`controllers: ${(error as Error).message}`);
    }
    await Bun.sleep(250);
  }
}

async function deployments(api: AdminApi, pods: readonly Item[]): Promise<void> {
  const all = await api.list("/apis/apps/v1/deployments");
  for (const { metadata, spec, status = {} } of all) {
    const { namespace, name, uid, generation } = metadata;
    const own = pods.filter((pod) => isOf(pod, uid) && pod.metadata.deletionTimestamp === undefined);
    const { template } = spec;
    for (let left = (spec.replicas ?? 1) - own.length; left > 0; left--)
      await api.call("POST", `/api/v1/namespaces/${namespace}/pods`, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: {
          // Two parts after the name, as those of a ReplicaSet have.
          name: `${name}-${uid.slice(0, 8)}-${crypto.randomUUID().slice(0, 5)}`,
          labels: template.metadata.labels,
          annotations: template.metadata.annotations,
          ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid, controller: true }],
        },
        ...bodyOf(template),
      });
    const ready = own.filter(isReady).length;
    if (status.availableReplicas === ready && status.observedGeneration === generation) continue;
    const isWhole = ready >= (spec.replicas ?? 1);
    await api.patch(`/apis/apps/v1/namespaces/${namespace}/deployments/${name}/status`, {
      status: {
        observedGeneration: generation,
        ...{ replicas: own.length, updatedReplicas: own.length, readyReplicas: ready, availableReplicas: ready },
        conditions: [{ type: "Available", status: isWhole ? "True" : "False", reason: "Harness" }],
      },
    });
  }
  const uids = new Set(all.map(({ metadata }) => metadata.uid));
  for (const { metadata } of pods) {
    const owner = metadata.ownerReferences?.find(({ kind }) => kind === "Deployment");
    if (owner !== undefined && !uids.has(owner.uid) && metadata.deletionTimestamp === undefined)
      await api.call("DELETE", `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`);
  }
}

/** The part of a template that a pod has as it is. */
function bodyOf({ spec }: Any): object {
  return { spec };
}

function isOf({ metadata }: Item, uid: string): boolean {
  return metadata.ownerReferences?.some((one) => one.uid === uid) === true;
}

function isReady({ status }: Item): boolean {
  return status?.conditions?.some((one: Any) => one.type === "Ready" && one.status === "True") === true;
}

async function services(api: AdminApi, pods: readonly Item[]): Promise<void> {
  const base = "/apis/discovery.k8s.io/v1";
  const slices = await api.list(`${base}/endpointslices?labelSelector=${encodeURIComponent(MANAGED)}`);
  const left = new Map(slices.map((one) => [`${one.metadata.namespace}/${one.metadata.name}`, one]));
  for (const { metadata, spec } of await api.list("/api/v1/services")) {
    if (spec.selector === undefined) continue;
    const { namespace, name } = metadata;
    const own = pods.filter(
      (pod) =>
        pod.metadata.namespace === namespace &&
        pod.metadata.deletionTimestamp === undefined &&
        pod.status?.podIP !== undefined &&
        Object.entries(spec.selector).every(([key, value]) => pod.metadata.labels?.[key] === value),
    );
    const endpoints = own.map((pod) => ({
      addresses: [pod.status.podIP],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: pod.spec.nodeName,
      targetRef: { kind: "Pod", name: pod.metadata.name, namespace, uid: pod.metadata.uid },
    }));
    const ports = spec.ports.map(({ name: port = "", protocol, targetPort, appProtocol }: Any) => ({
      ...{ name: port, protocol, port: targetPort },
      ...(appProtocol === undefined ? {} : { appProtocol }),
    }));
    const key = `${namespace}/${name}-harness`;
    const there = left.get(key);
    left.delete(key);
    const addressesOf = (all: readonly Any[] | null) => JSON.stringify((all ?? []).map((one) => one.addresses));
    if (there !== undefined && addressesOf(there.endpoints) === addressesOf(endpoints)) continue;
    const labels = { "kubernetes.io/service-name": name, "endpointslice.kubernetes.io/managed-by": "harness" };
    const folder = `${base}/namespaces/${namespace}/endpointslices`;
    if (there !== undefined) await api.patch(`${folder}/${name}-harness`, { endpoints, ports });
    else
      await api.call("POST", folder, {
        ...{ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: `${name}-harness`, labels } },
        ...{ addressType: "IPv4", endpoints, ports },
      });
  }
  for (const { metadata } of left.values())
    await api.call("DELETE", `${base}/namespaces/${metadata.namespace}/endpointslices/${metadata.name}`);
}

async function namespaces(api: AdminApi): Promise<void> {
  for (const one of await api.list("/api/v1/namespaces")) {
    const { name, deletionTimestamp } = one.metadata;
    if (deletionTimestamp === undefined || one.spec.finalizers === undefined) continue;
    for (const [base, plural] of OWNED) await api.call("DELETE", `${base}/namespaces/${name}/${plural}`);
    await api.call("PUT", `/api/v1/namespaces/${name}/finalize`, { ...one, ...{ spec: { finalizers: [] } } });
  }
}
