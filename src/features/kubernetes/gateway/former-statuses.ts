import type { ObjectStore } from "../object-store.ts";
import { nameOf, type ObjectCondition, refOf, type StatusPatch } from "../objects.ts";
import { condition, GATEWAY_GROUP, type GatewayObject, type ListenerSetObject } from "./shapes.ts";

/**
 * The statuses of Gateways and ListenerSets that this controller has served: if the class or the Gateway does not exist any more, nothing else takes
 * its old word back. One that belongs to another controller now is for that one to say.
 */
export function formerStatuses(store: ObjectStore): StatusPatch[] {
  const gateways = store.list<GatewayObject>("Gateway").flatMap((gateway): StatusPatch[] => {
    const name = gateway.spec?.gatewayClassName ?? "";
    if (gateway.metadata.hasOwnStatus !== true || !store.isListed("GatewayClass", "")) return [];
    if (store.get("GatewayClass", "", name) !== null) return [];
    const conditions = ["Accepted", "Programmed"].map((type) => pending(gateway, type));
    const status = { addresses: [], attachedListenerSets: 0, conditions, listeners: [] };
    return [{ object: refOf(gateway), status }];
  });
  const sets = store.list<ListenerSetObject>("ListenerSet").flatMap((set): StatusPatch[] => {
    const { namespace: home = "", generation, hasOwnStatus } = set.metadata;
    const { group = GATEWAY_GROUP, kind = "Gateway", namespace = home, name = "" } = set.spec?.parentRef ?? {};
    if (hasOwnStatus !== true || group !== GATEWAY_GROUP || kind !== "Gateway") return [];
    if (!store.isListed("Gateway", namespace) || store.get("Gateway", namespace, name) !== null) return [];
    const message = `there is no Gateway ${nameOf({ metadata: { namespace, name } })}`;
    const conditions = ["Accepted", "Programmed"].map((type) =>
      condition(generation, type, false, "ParentNotAccepted", message),
    );
    return [{ object: refOf(set), status: { conditions, listeners: [] } }];
  });
  return [...gateways, ...sets];
}

/** As the definition of Gateways has it before a controller takes one. */
function pending({ metadata, spec }: GatewayObject, type: string): ObjectCondition {
  const message = `there is no GatewayClass ${spec?.gatewayClassName}`;
  return { ...condition(metadata.generation, type, false, "Pending", message), status: "Unknown" };
}
