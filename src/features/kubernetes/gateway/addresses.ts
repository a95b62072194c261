import type { TranslationSettings } from "../objects.ts";
import type { GatewayObject } from "./shapes.ts";

/** The addresses of a Gateway. */
export interface GatewayPlace {
  /** What edge binds: each of them for every port. */
  readonly bound: readonly string[];
  /** In the status. */
  readonly shown: readonly { readonly type: string; readonly value: string }[];
  /** Why it is not accepted: InvalidParameters, UnsupportedAddress; "" if it is. */
  readonly refused: string;
  /** Why it is not programmed: AddressNotUsable, AddressNotAssigned; "" if it is. */
  readonly unusable: string;
}

/** What reasons about addresses say to who has written the Gateway. */
export const PLACE_FAULTS: Readonly<Record<string, string>> = {
  InvalidParameters: "edge takes no parameters: remove infrastructure.parametersRef",
  UnsupportedAddress: "edge takes addresses of the type IPAddress",
  AddressNotUsable:
    "an address of the spec belongs to another Gateway, or is not one of providers.kubernetes.addresses",
  AddressNotAssigned: "all of providers.kubernetes.addresses belong to other Gateways",
  ListenersNotValid: "conditions of the listeners say why",
};

const IP = "IPAddress";

/** Gives each Gateway its address: the requested one, its former one, or the next free one. */
export function gatewayPlaces(
  gateways: readonly GatewayObject[],
  settings: TranslationSettings,
): ReadonlyMap<GatewayObject, GatewayPlace> {
  const { pool, addresses, isUsable } = settings;
  const places = new Map<GatewayObject, GatewayPlace>();
  for (const one of gateways) places.set(one, { bound: [], shown: [], refused: refusedOf(one), unusable: "" });
  const accepted = gateways.filter((one) => refusedOf(one) === "");
  if (pool.length === 0) {
    const shown = addresses.map((value) => ({ type: isName(value) ? "Hostname" : IP, value }));
    for (const one of accepted) places.set(one, { bound: ["0.0.0.0"], shown, refused: "", unusable: "" });
    return places;
  }
  const members = new Set(pool);
  const taken = new Map<string, GatewayObject>();
  const isFree = (value: string, gateway: GatewayObject): boolean =>
    members.has(value) && (taken.get(value) ?? gateway) === gateway && isUsable(value);
  // An address that a Gateway has stays its own, whatever another one asks for. Then requests by name go first.
  for (const gateway of accepted) {
    const asked = askedOf(gateway);
    const held = statusOf(gateway).filter((value) => asked.length === 0 || asked.includes(value));
    for (const value of asked.length === 0 ? held.slice(0, 1) : held)
      if (isFree(value, gateway)) taken.set(value, gateway);
  }
  for (const gateway of accepted)
    for (const value of askedOf(gateway)) if (isFree(value, gateway)) taken.set(value, gateway);
  for (const gateway of accepted) {
    const asked = askedOf(gateway);
    const own = [...taken].flatMap(([value, of]) => (of === gateway ? [value] : []));
    if (own.length === 0 && asked.length === 0) {
      const next = pool.find((value) => isFree(value, gateway));
      if (next !== undefined) {
        taken.set(next, gateway);
        own.push(next);
      }
    }
    const missing = asked.length > 0 && own.length < asked.length ? "AddressNotUsable" : "";
    places.set(gateway, {
      bound: own,
      shown: own.map((value) => ({ type: IP, value })),
      refused: "",
      unusable: own.length === 0 && asked.length === 0 ? "AddressNotAssigned" : missing,
    });
  }
  return places;
}

function askedOf({ spec }: GatewayObject): string[] {
  return (spec?.addresses ?? []).flatMap(({ type = IP, value = "" }) => (type === IP && value !== "" ? [value] : []));
}

/** edge takes no parameters, and does not guess what those of others ask for. */
function refusedOf({ spec }: GatewayObject): string {
  if (spec?.infrastructure?.parametersRef !== undefined) return "InvalidParameters";
  return (spec?.addresses ?? []).some(({ type = IP }) => type !== IP) ? "UnsupportedAddress" : "";
}

function statusOf({ status }: GatewayObject): string[] {
  const { addresses = [] } = (status ?? {}) as { readonly addresses?: readonly { readonly value?: string }[] };
  return addresses.flatMap(({ value }) => value ?? []);
}

function isName(value: string): boolean {
  return !/^[\d.]+$|:/.test(value);
}

/** The name of the gateway's listener at an address and a port. */
export function listenerName(address: string, port: number, protocol: string): string {
  return `k8s-${protocol}-${address.replaceAll(":", "_")}-${port}`;
}

/** Whether a listener is one of these. */
export function isClusterListener(name: string): boolean {
  return name.startsWith("k8s-");
}
