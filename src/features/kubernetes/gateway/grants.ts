import type { ObjectStore } from "../object-store.ts";
import type { KubeObject } from "../objects.ts";
import { GATEWAY_GROUP, isSelected, type NamespacesFrom } from "./shapes.ts";

interface GrantObject extends KubeObject {
  readonly spec?: {
    readonly from?: readonly { readonly group?: string; readonly kind?: string; readonly namespace?: string }[];
    readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
  };
}

/** Whether an object may refer to one of another namespace: a ReferenceGrant there has to say so. */
export function isGranted(
  store: ObjectStore,
  from: { readonly kind: string; readonly namespace: string },
  to: { readonly kind: string; readonly namespace: string; readonly name: string },
): boolean {
  if (from.namespace === to.namespace) return true;
  return store.list<GrantObject>("ReferenceGrant", to.namespace).some(({ spec }) => {
    const isFrom = spec?.from?.some(
      ({ group, kind, namespace }) => group === GATEWAY_GROUP && kind === from.kind && namespace === from.namespace,
    );
    const isTo = spec?.to?.some(
      ({ group = "", kind, name = "" }) => group === "" && kind === to.kind && (name === "" || name === to.name),
    );
    return isFrom === true && isTo === true;
  });
}

/** Whether objects of a namespace may be attached. @param home the namespace of the Gateway */
export function isAllowedFrom(
  store: ObjectStore,
  from: NamespacesFrom | undefined,
  usual: string,
  home: string,
  namespace: string,
): boolean {
  const word = from?.from ?? usual;
  if (word === "All") return true;
  if (word === "Same") return home === namespace;
  if (word !== "Selector") return false;
  return isSelected(store.get("Namespace", "", namespace)?.metadata.labels ?? {}, from?.selector);
}
