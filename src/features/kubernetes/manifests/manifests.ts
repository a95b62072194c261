import { CLUSTER_RULES, NAMESPACE_RULES, ownRules } from "./access-rules.ts";

/** What `edge kubernetes manifests` is asked for. */
export interface ManifestOptions {
  readonly namespace: string;
  readonly image: string;
  /** Of the Deployment at least; the autoscaler adds more. */
  readonly replicas: number;
  /** One pod on each node in place of a Deployment. */
  readonly isDaemonSet: boolean;
  readonly serviceType: string;
  /** Whose routes are served; none: those of the whole cluster. */
  readonly namespaces: readonly string[];
  /** Ports of listeners: of Gateways, and of Ingresses. */
  readonly ports: readonly number[];
  readonly gatewayClass: string;
  readonly ingressClass: string;
  readonly controller: string;
  /** The network of pods, which may read metrics. */
  readonly podNetwork: string;
  readonly hasServiceMonitor: boolean;
  /** The definition of EdgePolicy; null leaves it out. */
  readonly definition: object | null;
}

type Manifest = Readonly<Record<string, unknown>>;

const NAME = "edge";
const LABELS = { "app.kubernetes.io/name": NAME };
/** Of the gateway itself: health and the API. */
const HEALTH_PORT = 8080;
const INTERNAL_PORT = 9090;
/** Lower ones take a capability. */
const FIRST_FREE_PORT = 1024;
const USER = 65_532;

/** All objects that edge needs in a cluster, in the order in which they are applied. docs/kubernetes.md#manifests */
export function manifests(options: ManifestOptions): readonly Manifest[] {
  const { definition, hasServiceMonitor, isDaemonSet } = options;
  return [
    ...(definition === null ? [] : [definition as Manifest]),
    {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: options.namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
    },
    { ...object("v1", "ServiceAccount", options), automountServiceAccountToken: false },
    ...accessOf(options),
    { ...object("v1", "ConfigMap", options), data: { "config.yaml": configOf(options) } },
    ...services(options),
    isDaemonSet ? daemonSet(options) : deployment(options),
    ...(isDaemonSet ? [] : [autoscaler(options)]),
    disruptionBudget(options),
    networkPolicy(options),
    ...(hasServiceMonitor ? [serviceMonitor(options)] : []),
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "GatewayClass",
      metadata: { name: options.gatewayClass, labels: LABELS },
      spec: { controllerName: options.controller },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "IngressClass",
      metadata: { name: options.ingressClass, labels: LABELS },
      spec: { controller: options.controller },
    },
  ];
}

/** @param namespace "" for a kind of the whole cluster */
function object(
  apiVersion: string,
  kind: string,
  { namespace }: { readonly namespace: string },
  name: string = NAME,
): Manifest {
  return { apiVersion, kind, metadata: { name, ...(namespace === "" ? {} : { namespace }), labels: LABELS } };
}

/** A role, and that the account of the pods has it. */
function granted(rules: readonly object[], namespace: string, owner: string, name: string): readonly Manifest[] {
  const kind = namespace === "" ? "ClusterRole" : "Role";
  const group = "rbac.authorization.k8s.io";
  return [
    { ...object(`${group}/v1`, kind, { namespace }, name), rules },
    {
      ...object(`${group}/v1`, `${kind}Binding`, { namespace }, name),
      roleRef: { apiGroup: group, kind, name },
      subjects: [{ kind: "ServiceAccount", name: NAME, namespace: owner }],
    },
  ];
}

/** Where namespaces are listed, no rule of the whole cluster lets edge read a Secret. */
function accessOf({ namespace, namespaces }: ManifestOptions): readonly Manifest[] {
  const isWide = namespaces.length === 0;
  // Roles of the whole cluster bear the namespace in their names: several installations have rules of their own.
  const clusterName = namespace === NAME ? NAME : `${NAME}-${namespace}`;
  return [
    ...granted([...CLUSTER_RULES, ...(isWide ? NAMESPACE_RULES : [])], "", namespace, clusterName),
    ...granted(ownRules(NAME), namespace, namespace, `${NAME}-own`),
    ...namespaces.flatMap((one) => granted(NAMESPACE_RULES, one, namespace, clusterName)),
  ];
}

function configOf(options: ManifestOptions): string {
  const { namespace, namespaces, controller, ingressClass, podNetwork } = options;
  const listed = namespaces.length === 0 ? [] : [`    namespaces: [${namespaces.join(", ")}]`];
  return [
    "# Every key: edge help config",
    "server:",
    "  host: 0.0.0.0",
    `  port: ${HEALTH_PORT}`,
    "  # As many as resources.requests.cpu, not as many as the machine has.",
    "  workers: 1",
    "  # Longer than it takes until all that send traffic have seen that the pod is going.",
    `  drain_delay: ${DRAIN_SECONDS}s`,
    `  shutdown_timeout: ${SHUTDOWN_SECONDS}s`,
    "internal_api:",
    `  listen: 0.0.0.0:${INTERNAL_PORT}`,
    "  # Pods, and thus Prometheus: they may look, and not act.",
    `  allow: [${podNetwork}]`,
    "providers:",
    "  kubernetes:",
    `    controller: ${controller}`,
    `    ingress_class: ${ingressClass}`,
    ...ingressPorts(options),
    "    # The Service whose addresses statuses name.",
    `    service: ${namespace}/${NAME}`,
    ...listed,
    "",
  ].join("\n");
}

/** Ingresses have the first two of the ports, unless those of HTTP and HTTPS are among them. */
function ingressPorts({ ports }: ManifestOptions): string[] {
  const [first = 80, second] = ports;
  if (ports.includes(80)) return [];
  return [`    ingress_ports: {http: ${first}${second === undefined ? "" : `, https: ${second}`}}`];
}

const DRAIN_SECONDS = 10;
const SHUTDOWN_SECONDS = 30;
/** For the end of the process itself. */
const SPARE_SECONDS = 5;

function services(options: ManifestOptions): readonly Manifest[] {
  const { serviceType, ports } = options;
  const isOutside = serviceType !== "ClusterIP";
  const inner = object("v1", "Service", options, `${NAME}-internal`);
  const labels = { ...LABELS, "app.kubernetes.io/component": "internal" };
  return [
    {
      ...object("v1", "Service", options),
      spec: {
        type: serviceType,
        // Keeps the client's address, and one hop less.
        ...(isOutside ? { externalTrafficPolicy: "Local" } : {}),
        selector: LABELS,
        ports: ports.map((port) => ({ name: portName(port), port, targetPort: port, protocol: "TCP" })),
      },
    },
    {
      ...inner,
      metadata: { ...(inner.metadata as object), labels },
      spec: {
        clusterIP: "None",
        selector: LABELS,
        ports: [{ name: "internal", port: INTERNAL_PORT, targetPort: INTERNAL_PORT, protocol: "TCP" }],
      },
    },
  ];
}

function portName(port: number): string {
  if (port === 80) return "http";
  return port === 443 ? "https" : `port-${port}`;
}

function deployment(options: ManifestOptions): Manifest {
  return {
    ...object("apps/v1", "Deployment", options),
    // The autoscaler says how many.
    spec: {
      selector: { matchLabels: LABELS },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      minReadySeconds: 5,
      template: podTemplate(options),
    },
  };
}

function daemonSet(options: ManifestOptions): Manifest {
  return {
    ...object("apps/v1", "DaemonSet", options),
    spec: {
      selector: { matchLabels: LABELS },
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1 } },
      minReadySeconds: 5,
      template: podTemplate(options),
    },
  };
}

function podTemplate(options: ManifestOptions): Manifest {
  const { isDaemonSet, ports } = options;
  const isLow = ports.some((port) => port < FIRST_FREE_PORT);
  const spread = {
    maxSkew: 1,
    topologyKey: "kubernetes.io/hostname",
    whenUnsatisfiable: "ScheduleAnyway",
    labelSelector: { matchLabels: LABELS },
  };
  return {
    metadata: { labels: LABELS },
    spec: {
      serviceAccountName: NAME,
      automountServiceAccountToken: true,
      terminationGracePeriodSeconds: DRAIN_SECONDS + SHUTDOWN_SECONDS + SPARE_SECONDS,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
        // A user other than root gets the capability of the container only if the binary has it, too.
        ...(isLow ? { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }] } : {}),
      },
      ...(isDaemonSet ? {} : { topologySpreadConstraints: [spread] }),
      containers: [containerOf(options, isLow)],
      volumes: [
        { name: "config", configMap: { name: NAME } },
        { name: "tmp", emptyDir: { sizeLimit: "64Mi" } },
        { name: "state", emptyDir: { sizeLimit: "256Mi" } },
      ],
    },
  };
}

function containerOf({ image, ports }: ManifestOptions, isLow: boolean): Manifest {
  return {
    name: NAME,
    image,
    args: ["serve", "--kubernetes", "--config", "/etc/edge/config.yaml"],
    workingDir: STATE_FOLDER,
    env: [
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "STATE_DIRECTORY", value: STATE_FOLDER },
    ],
    ports: [
      { name: "health", containerPort: HEALTH_PORT, protocol: "TCP" },
      { name: "internal", containerPort: INTERNAL_PORT, protocol: "TCP" },
      ...ports.map((port) => ({ name: portName(port), containerPort: port, protocol: "TCP" })),
    ],
    startupProbe: probe("/health", 1, 60),
    // 503 from SIGTERM on: no new connection comes while drain_delay runs.
    readinessProbe: probe("/health", 2, 1),
    // Not /health: a gateway that drains must not be killed for it.
    livenessProbe: probe("/api/status", 10, 3),
    resources: { requests: { cpu: "1", memory: "256Mi" }, limits: { memory: "1Gi" } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"], ...(isLow ? { add: ["NET_BIND_SERVICE"] } : {}) },
    },
    volumeMounts: [
      { name: "config", mountPath: "/etc/edge", readOnly: true },
      { name: "tmp", mountPath: "/tmp" },
      { name: "state", mountPath: STATE_FOLDER },
    ],
  };
}

const STATE_FOLDER = "/var/lib/edge";

function probe(path: string, periodSeconds: number, failureThreshold: number): Manifest {
  return { httpGet: { path, port: "health", scheme: "HTTP" }, periodSeconds, failureThreshold };
}

function autoscaler(options: ManifestOptions): Manifest {
  const { replicas } = options;
  return {
    ...object("autoscaling/v2", "HorizontalPodAutoscaler", options),
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: NAME },
      minReplicas: replicas,
      maxReplicas: replicas * 10,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
      ],
      // A rollout or a burst is over by then.
      behavior: {
        scaleDown: {
          stabilizationWindowSeconds: 300,
          policies: [{ type: "Percent", value: 20, periodSeconds: 60 }],
        },
      },
    },
  };
}

function disruptionBudget(options: ManifestOptions): Manifest {
  return {
    ...object("policy/v1", "PodDisruptionBudget", options),
    spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: LABELS } },
  };
}

function networkPolicy(options: ManifestOptions): Manifest {
  const inNamespace = (name: string): object => ({
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
  });
  const tcp = (...ports: readonly number[]): readonly object[] => ports.map((port) => ({ port, protocol: "TCP" }));
  return {
    ...object("networking.k8s.io/v1", "NetworkPolicy", options),
    spec: {
      podSelector: { matchLabels: LABELS },
      policyTypes: ["Ingress", "Egress"],
      ingress: [
        // Clients and the kubelet's probes, from anywhere.
        { ports: tcp(...options.ports, HEALTH_PORT) },
        { from: [inNamespace("monitoring")], ports: tcp(INTERNAL_PORT) },
      ],
      egress: [
        { to: [inNamespace("kube-system")], ports: [{ port: 53, protocol: "UDP" }, ...tcp(53)] },
        // The API server, whose address a policy cannot name.
        { ports: tcp(443, 6443) },
        // Endpoints of Services: pods of this cluster. Others need a rule of their own.
        { to: [{ namespaceSelector: {} }] },
      ],
    },
  };
}

function serviceMonitor(options: ManifestOptions): Manifest {
  return {
    ...object("monitoring.coreos.com/v1", "ServiceMonitor", options),
    spec: {
      selector: { matchLabels: { ...LABELS, "app.kubernetes.io/component": "internal" } },
      endpoints: [{ port: "internal", path: "/metrics", interval: "15s" }],
    },
  };
}
