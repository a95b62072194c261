import type { ObjectStore } from "../object-store.ts";
import { type KubeObject, nameOf, type ObjectCondition, refOf, type StatusPatch } from "../objects.ts";

type Keys = Readonly<Record<string, unknown>>;

/** An object that a policy may be attached to, or a part of it. */
export interface PolicyPlace {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The name of a listener or of a rule; "" for the whole object. */
  readonly section: string;
}

/** What policies say of a route. */
interface PolicyKeys {
  /** Keys of a route, as routes.yaml has them, secrets in place of references. */
  readonly keys: Keys;
  /** Why the route must not serve: a policy of it is not valid; "" if all are. */
  readonly fault: string;
}

/** Judges the keys of a policy, and puts values in the place of references to Secrets of its namespace. */
export type PolicyJudge = (
  keys: Keys,
  namespace: string,
  store: ObjectStore,
) => { readonly keys: Keys; readonly faults: readonly string[] };

interface TargetReference {
  readonly group?: string;
  readonly kind?: string;
  readonly name?: string;
  readonly sectionName?: string;
}

interface PolicyObject extends KubeObject {
  readonly spec?: Keys & { readonly targetRef?: TargetReference; readonly targetRefs?: readonly TargetReference[] };
}

interface JudgedPolicy {
  readonly policy: PolicyObject;
  readonly keys: Keys;
  /** Why it is not valid; "" if it is. */
  readonly fault: string;
}

/** What becomes of a policy at one of its targets. */
interface Attachment {
  readonly policy: PolicyObject;
  readonly target: TargetReference;
  readonly isAccepted: boolean;
  readonly reason: string;
  readonly message: string;
}

/**
 * THE EdgePolicies of a cluster. Of two with the same target, the older one counts. A policy at a rule goes before one at its route, that before one at a
 * listener, that before one at a Gateway: key by key. docs/kubernetes-policies.md
 */
export class PolicyTable {
  private readonly winners: Map<string, JudgedPolicy> = new Map();
  private readonly attachments: Attachment[] = [];

  constructor(store: ObjectStore, judge: PolicyJudge) {
    // The oldest first.
    for (const policy of store.list<PolicyObject>("EdgePolicy"))
      if (policy.metadata.deletionTimestamp === undefined) this.attach(judged(policy, judge, store), store);
  }

  /** Whether no policy is there. */
  get isEmpty(): boolean {
    return this.winners.size === 0;
  }

  /** What policies say at these places. @param places the widest first, such as the Gateway, its listener, the route, its rule */
  keysAt(places: readonly PolicyPlace[]): PolicyKeys {
    const keys: Record<string, unknown> = {};
    let fault = "";
    for (const place of this.isEmpty ? [] : places) {
      const found = this.winners.get(keyOf(place));
      if (found === undefined) continue;
      if (found.fault === "") Object.assign(keys, found.keys);
      else fault ||= `EdgePolicy ${nameOf(found.policy)}: ${found.fault}`;
    }
    return { keys, fault };
  }

  /** The status of each policy. */
  statuses(controller: string): StatusPatch[] {
    const byPolicy = Map.groupBy(this.attachments, ({ policy }) => policy);
    return [...byPolicy].map(([policy, all]): StatusPatch => {
      const { ancestors = [] } = (policy.status ?? {}) as {
        readonly ancestors?: readonly { readonly controllerName?: string }[];
      };
      const others = ancestors.filter(({ controllerName }) => controllerName !== controller);
      const own = all.map(({ target, ...rest }) => ({
        ancestorRef: ancestorOf(policy, target),
        controllerName: controller,
        conditions: [accepted(policy, rest)],
      }));
      return { object: refOf(policy), status: { ancestors: [...others, ...own].slice(0, MAX_ANCESTORS) } };
    });
  }

  private attach(one: JudgedPolicy, store: ObjectStore): void {
    const { policy, fault } = one;
    for (const target of targetsOf(policy)) {
      const note = (reason: string, message: string): void => {
        this.attachments.push({ policy, target, isAccepted: reason === "Accepted", reason, message });
      };
      const missing = missingTarget(policy, target, store);
      if (missing !== "") {
        note("TargetNotFound", missing);
        continue;
      }
      const place = placeOf(policy, target);
      const older = this.winners.get(keyOf(place));
      if (older !== undefined && older.policy !== policy) {
        note("Conflicted", `${nameOf(older.policy)} is older and has the same target`);
        continue;
      }
      this.winners.set(keyOf(place), one);
      if (fault === "") note("Accepted", "");
      else note("Invalid", `routes of the target do not serve: ${fault}`.slice(0, MAX_MESSAGE));
    }
  }
}

/** As the API allows. */
const MAX_ANCESTORS = 16;
const MAX_MESSAGE = 2000;
const KINDS = ["Gateway", "HTTPRoute", "GRPCRoute", "Ingress"];
const GROUPS: Readonly<Record<string, string>> = { Ingress: "networking.k8s.io" };
const GATEWAY_GROUP = "gateway.networking.k8s.io";

function judged(policy: PolicyObject, judge: PolicyJudge, store: ObjectStore): JudgedPolicy {
  const { targetRef: _, targetRefs: __, ...keys } = policy.spec ?? {};
  const { keys: values, faults } = judge(keys, policy.metadata.namespace ?? "", store);
  return { policy, keys: values, fault: faults.join("; ") };
}

function targetsOf({ spec }: PolicyObject): readonly TargetReference[] {
  const { targetRef, targetRefs } = spec ?? {};
  const all = Array.isArray(targetRefs) ? targetRefs : [targetRef];
  return all.filter((one) => typeof one === "object" && one !== null).slice(0, MAX_ANCESTORS) as TargetReference[];
}

function placeOf({ metadata }: PolicyObject, { kind = "", name = "", sectionName = "" }: TargetReference): PolicyPlace {
  return { kind, namespace: metadata.namespace ?? "", name, section: sectionName };
}

function keyOf({ kind, namespace, name, section }: PolicyPlace): string {
  return `${kind} ${namespace}/${name}/${section}`;
}

/** Why there is no such target, or "". */
function missingTarget(policy: PolicyObject, target: TargetReference, store: ObjectStore): string {
  const { kind, namespace, name, section } = placeOf(policy, target);
  if (!KINDS.includes(kind) || (target.group ?? GATEWAY_GROUP) !== (GROUPS[kind] ?? GATEWAY_GROUP))
    return `policies are not for the kind ${kind}`;
  const object = store.get(kind, namespace, name);
  if (object === null) return `there is no ${kind} ${namespace}/${name}`;
  if (section === "") return "";
  const { listeners, rules } = (object.spec ?? {}) as Readonly<Record<string, unknown>>;
  const [parts, what] = kind === "Gateway" ? [listeners, "listener"] : [rules, "rule"];
  const isThere = Array.isArray(parts) && kind !== "Ingress" && parts.some((part) => part?.name === section);
  return isThere ? "" : `${kind} ${namespace}/${name} has no ${what} with the name ${section}`;
}

function ancestorOf(policy: PolicyObject, target: TargetReference): object {
  const { kind, namespace, name, section } = placeOf(policy, target);
  const group = GROUPS[kind] ?? GATEWAY_GROUP;
  return { group, kind, namespace, name, ...(section === "" ? {} : { sectionName: section }) };
}

function accepted(
  { metadata }: PolicyObject,
  { isAccepted, reason, message }: Pick<Attachment, "isAccepted" | "reason" | "message">,
): ObjectCondition {
  const { generation } = metadata;
  return {
    type: "Accepted",
    status: isAccepted ? "True" : "False",
    reason,
    message,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
}
