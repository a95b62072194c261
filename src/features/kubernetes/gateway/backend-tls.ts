import type { ObjectStore } from "../object-store.ts";
import { type KubeObject, type ObjectCondition, refOf, type Service, type StatusPatch } from "../objects.ts";
import { trustedAuthority } from "./listeners.ts";
import { condition, GATEWAY_GROUP, type Reference } from "./shapes.ts";

/** How TLS is spoken to a backend. */
export interface BackendTls {
  /** "" for the roots of the system. */
  readonly caFile: string;
  readonly serverName: string;
  /** Host names and URIs, one of which the certificate must have in place of `serverName`; none checks that. */
  readonly names: readonly string[];
  /** Whether the policy has no certificates that could be trusted: requests fail. */
  readonly isBroken: boolean;
}

interface PolicyObject extends KubeObject {
  readonly spec?: {
    readonly targetRefs?: readonly (Reference & { readonly sectionName?: string })[];
    readonly validation?: {
      readonly hostname?: string;
      readonly caCertificateRefs?: readonly Reference[];
      readonly wellKnownCACertificates?: string;
      readonly subjectAltNames?: readonly {
        readonly type: string;
        readonly hostname?: string;
        readonly uri?: string;
      }[];
    };
  };
}

interface JudgedPolicy {
  readonly policy: PolicyObject;
  readonly tls: BackendTls;
  readonly reason: string;
  readonly message: string;
}

/** THE BackendTLSPolicies of a cluster: the oldest one of a port of a Service holds. */
export class BackendTlsPolicies {
  private readonly store: ObjectStore;
  private readonly judged: readonly JudgedPolicy[];
  /** Policies with the Gateways through which they are used. */
  private readonly ancestors: Map<PolicyObject, Set<string>> = new Map();
  private readonly conflicted: Set<PolicyObject> = new Set();

  constructor(store: ObjectStore, fileOf: (pem: string) => string) {
    this.store = store;
    this.judged = store.list<PolicyObject>("BackendTLSPolicy").map((policy) => judgedPolicy(store, policy, fileOf));
  }

  get isEmpty(): boolean {
    return this.judged.length === 0;
  }

  /** The TLS of a port of a Service; null for clear text. @param gateways `namespace/name`, through which it is used */
  tlsFor(namespace: string, service: string, port: number, gateways: readonly string[]): BackendTls | null {
    const object = this.store.get<Service>("Service", namespace, service);
    const name = object?.spec?.ports?.find((one) => one.port === port)?.name ?? "";
    const targets = this.judged.flatMap((one) => {
      if (one.policy.metadata.namespace !== namespace) return [];
      const refs = (one.policy.spec?.targetRefs ?? []).filter(
        ({ kind, name: target, sectionName = "" }) =>
          kind === "Service" && target === service && (sectionName === "" || sectionName === name),
      );
      return refs.length === 0
        ? []
        : [{ ...one, isForPort: refs.some(({ sectionName }) => sectionName !== undefined) }];
    });
    const narrow = targets.filter(({ isForPort }) => isForPort);
    const [first, ...others] = narrow.length > 0 ? narrow : targets;
    for (const { policy } of targets) this.noteUse(policy, gateways);
    for (const { policy } of others) this.conflicted.add(policy);
    return first?.tls ?? null;
  }

  /** The status of each policy in use. */
  statuses(controller: string): StatusPatch[] {
    return this.judged.flatMap(({ policy, reason, message }): StatusPatch[] => {
      const used = [...(this.ancestors.get(policy) ?? [])].sort();
      const there = ((policy.status ?? {}) as { ancestors?: readonly { controllerName?: string }[] }).ancestors ?? [];
      const others = there.filter(({ controllerName }) => controllerName !== controller);
      if (used.length === 0 && others.length === there.length) return [];
      const conditions = conditionsOf(policy, reason, message, this.conflicted.has(policy));
      const own = used.map((one) => {
        const [namespace, name] = one.split("/");
        return {
          ancestorRef: { group: GATEWAY_GROUP, kind: "Gateway", namespace, name },
          controllerName: controller,
          conditions,
        };
      });
      return [{ object: refOf(policy), status: { ancestors: [...others, ...own].slice(0, MAX_ANCESTORS) } }];
    });
  }

  private noteUse(policy: PolicyObject, gateways: readonly string[]): void {
    const known = this.ancestors.get(policy) ?? new Set();
    this.ancestors.set(policy, known);
    for (const one of gateways) known.add(one);
  }
}

/** As the API allows. */
const MAX_ANCESTORS = 16;

function conditionsOf(
  { metadata }: PolicyObject,
  reason: string,
  message: string,
  isConflicted: boolean,
): ObjectCondition[] {
  const at = metadata.generation;
  if (isConflicted)
    return [condition(at, "Accepted", false, "Conflicted", "an older policy has the same target"), resolved(at)];
  if (reason === "") return [condition(at, "Accepted", true, "Accepted"), resolved(at)];
  return [
    condition(at, "Accepted", false, "NoValidCACertificate", message),
    condition(at, "ResolvedRefs", false, reason, message),
  ];
}

function resolved(at: number | undefined): ObjectCondition {
  return condition(at, "ResolvedRefs", true, "ResolvedRefs");
}

function judgedPolicy(store: ObjectStore, policy: PolicyObject, fileOf: (pem: string) => string): JudgedPolicy {
  const { hostname = "", caCertificateRefs = [], subjectAltNames = [] } = policy.spec?.validation ?? {};
  const found: string[] = [];
  let fault = { reason: "", message: "" };
  for (const ref of caCertificateRefs) {
    const result = trustedAuthority(store, policy, { ...ref, kind: ref.kind ?? "" });
    if (typeof result === "string") found.push(result);
    else fault = { ...result, reason: result.reason === "InvalidCACertificateKind" ? "InvalidKind" : result.reason };
  }
  const isBroken = caCertificateRefs.length > 0 && found.length === 0;
  const names = subjectAltNames.map(({ type, hostname: host = "", uri = "" }) => (type === "URI" ? uri : host));
  const tls = { caFile: found.length === 0 ? "" : fileOf(found.join("\n")), serverName: hostname, names, isBroken };
  return { policy, tls, ...(isBroken ? fault : { reason: "", message: "" }) };
}
