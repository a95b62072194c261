import { backendOf } from "../backends.ts";
import { challengeHosts, type TakesChallenges } from "../host-owners.ts";
import type { ObjectStore } from "../object-store.ts";
import type { BackendTls, BackendTlsPolicies } from "./backend-tls.ts";
import { isGranted } from "./grants.ts";
import type { BackendReference, RouteFilter, RouteObject } from "./shapes.ts";

/** A backend of a rule, as far as it can be used. */
export interface ResolvedBackend {
  readonly weight: number;
  /** `10.0.0.5:3000`; none while no endpoint is ready. */
  readonly addresses: readonly string[];
  readonly appProtocol: string;
  /** Null for clear text. */
  readonly tls: BackendTls | null;
  readonly filters: readonly RouteFilter[];
  /** Why it cannot be used: the reason of ResolvedRefs; "" if it can. */
  readonly reason: string;
  readonly message: string;
}

const FAULTS = {
  "no service": (shown: string) => `there is no Service ${shown}`,
  "no port": (shown: string, port: number) => `the Service ${shown} has no port ${port}`,
  "external name": (shown: string) =>
    `the Service ${shown} is an ExternalName, which leads anywhere: edge does not follow it`,
} as const;

/** A backend that was asked for, and the stamp that its Service had. */
export interface BackendUse {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  readonly gateways: readonly string[];
  readonly stamp: number;
  /** Whether it can be used, so that policies about its Service count. */
  isUsable: boolean;
}

/** Resolves the backends of routes. */
export class BackendResolver {
  /** Tells all but routes and Services, of which backends depend, from what it was. */
  readonly world: string;
  readonly takesChallenges: TakesChallenges;
  private readonly store: ObjectStore;
  private readonly policies: BackendTlsPolicies;
  private uses: BackendUse[] = [];

  constructor(store: ObjectStore, policies: BackendTlsPolicies) {
    this.store = store;
    this.policies = policies;
    this.takesChallenges = challengeHosts(store);
    // Certificates of authorities and secrets are asked for by policies alone.
    const kinds = ["ReferenceGrant", "EdgePolicy", "BackendTLSPolicy"];
    const more = store.list("EdgePolicy").length + store.list("BackendTLSPolicy").length > 0;
    this.world = [...kinds, ...(more ? ["Secret", "ConfigMap"] : [])].map((kind) => store.versionOf(kind)).join(" ");
  }

  /** @returns with what a function gives, the backends that it has asked for */
  noting<T>(make: () => T): [T, readonly BackendUse[]] {
    this.uses = [];
    // The uses hold all that a backend asks for.
    const [made] = this.store.noting(make);
    return [made, this.uses];
  }

  /** Whether backends are as they were. */
  isSame(uses: readonly BackendUse[]): boolean {
    return uses.every(({ namespace, name, stamp }) => this.store.stampOf(namespace, name) === stamp);
  }

  /** Notes backends as used through their Gateways. */
  reuse(uses: readonly BackendUse[]): void {
    if (this.policies.isEmpty) return;
    for (const { namespace, name, port, gateways, isUsable } of uses)
      if (isUsable) this.policies.tlsFor(namespace, name, port, gateways);
  }

  resolve(
    { kind, metadata }: RouteObject,
    ref: BackendReference,
    gateways: readonly string[],
    protocol: "TCP" | "UDP" = "TCP",
  ): ResolvedBackend {
    const namespace = ref.namespace ?? metadata.namespace!;
    const shown = `${namespace}/${ref.name}`;
    const stamp = this.store.stampOf(namespace, ref.name);
    const use = { namespace, name: ref.name, port: ref.port ?? 0, gateways, stamp, isUsable: false };
    this.uses.push(use);
    const none = { weight: ref.weight ?? 1, addresses: [], appProtocol: "", tls: null, filters: ref.filters ?? [] };
    if ((ref.group ?? "") !== "" || (ref.kind ?? "Service") !== "Service")
      return { ...none, reason: "InvalidKind", message: `${ref.kind} ${shown} is no Service` };
    if (
      !isGranted(this.store, { kind, namespace: metadata.namespace! }, { kind: "Service", namespace, name: ref.name })
    )
      return { ...none, reason: "RefNotPermitted", message: `no ReferenceGrant allows the Service ${shown}` };
    const found = backendOf(this.store, namespace, ref.name, ref.port ?? 0, protocol);
    if (typeof found === "string")
      return {
        ...none,
        reason: "BackendNotFound",
        message: FAULTS[found](shown, ref.port ?? 0),
      };
    use.isUsable = true;
    const tls = this.policies.tlsFor(namespace, ref.name, ref.port ?? 0, gateways);
    return { ...none, ...found, tls, reason: "", message: "" };
  }
}
