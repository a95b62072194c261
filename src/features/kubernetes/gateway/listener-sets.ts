import type { ObjectStore } from "../object-store.ts";
import { refOf, type StatusPatch } from "../objects.ts";
import type { GatewayPlace } from "./addresses.ts";
import { isAllowedFrom } from "./grants.ts";
import { type JudgedListener, listenerStatus } from "./listeners.ts";
import { condition, GATEWAY_GROUP, type GatewayObject, type ListenerSetObject } from "./shapes.ts";

/** A ListenerSet of one of our Gateways. */
export interface JudgedSet {
  readonly set: ListenerSetObject;
  readonly parent: GatewayObject;
  /** Whether that Gateway lets sets of this namespace add listeners. */
  readonly isAllowed: boolean;
}

/** The ListenerSets of some Gateways, the oldest first. */
export function judgedSets(store: ObjectStore, gateways: readonly GatewayObject[]): readonly JudgedSet[] {
  return store.list<ListenerSetObject>("ListenerSet").flatMap((set): JudgedSet[] => {
    const { namespace = "" } = set.metadata;
    const ref = set.spec?.parentRef;
    if (ref === undefined || (ref.group ?? GATEWAY_GROUP) !== GATEWAY_GROUP || (ref.kind ?? "Gateway") !== "Gateway")
      return [];
    const parent = gateways.find(
      ({ metadata }) => metadata.name === ref.name && metadata.namespace === (ref.namespace ?? namespace),
    );
    if (parent === undefined) return [];
    const { namespaces } = parent.spec?.allowedListeners ?? {};
    const isAllowed = isAllowedFrom(store, namespaces, "None", parent.metadata.namespace!, namespace);
    return [{ set, parent, isAllowed }];
  });
}

/** Whether some listener of a set serves. */
export function isSetServed({ set, isAllowed }: JudgedSet, listeners: readonly JudgedListener[]): boolean {
  return isAllowed && listeners.some((one) => one.owner === set && one.isServed);
}

/** The status of a set. */
export function setStatus(
  judged: JudgedSet,
  all: readonly JudgedListener[],
  places: ReadonlyMap<GatewayObject, GatewayPlace>,
): StatusPatch {
  const { set, parent, isAllowed } = judged;
  const at = set.metadata.generation;
  const own = all.filter(({ owner }) => owner === set);
  const hasAddress = (places.get(parent)?.bound.length ?? 0) > 0;
  if (!isAllowed) {
    const message = "the Gateway allows no listeners of this namespace";
    const conditions = ["Accepted", "Programmed"].map((type) => condition(at, type, false, "NotAllowed", message));
    return { object: refOf(set), status: { conditions, listeners: [] } };
  }
  const isAccepted = isSetServed(judged, all);
  const isWhole = own.every(({ isServed }) => isServed);
  const isProgrammed = isAccepted && hasAddress;
  const conditions = [
    condition(at, "Accepted", isAccepted, isWhole ? "Accepted" : "ListenersNotValid"),
    condition(at, "Programmed", isProgrammed, isProgrammed ? "Programmed" : isWhole ? "Pending" : "ListenersNotValid"),
  ];
  const listeners = own.map((one) => listenerStatus(one, hasAddress));
  return { object: refOf(set), status: { conditions, listeners } };
}
