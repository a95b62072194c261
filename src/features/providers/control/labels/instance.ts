import { bracketed } from "../../../../core/ip-address.ts";

/** What labels describe: a container, or one instance of a service of a catalog. It goes to the state folder as it is. */
export interface Instance {
  readonly id: string;
  /** Of the container, or of the service. */
  readonly name: string;
  /** Labels of one scope may say one route together; "" for those of all containers. */
  readonly scope: string;
  /** When it was started, as its source says it: the first is the lowest. */
  readonly since: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Its addresses by network, IPv6 without brackets. */
  readonly addresses: Readonly<Record<string, string>>;
  /** TCP ports where it listens, the one for requests first. */
  readonly ports: readonly number[];
}

/** Whether a value of the state folder is one. */
export function isInstance(one: unknown): one is Instance {
  const { id, name, scope, since, labels, addresses, ports } = (one ?? {}) as Partial<Instance>;
  const isMap = (value: unknown): boolean => typeof value === "object" && value !== null;
  return (
    [id, name, scope, since].every((text) => typeof text === "string") &&
    isMap(labels) &&
    isMap(addresses) &&
    Array.isArray(ports)
  );
}

/** The first started first. */
export function inOrder(instances: Iterable<Instance>): readonly Instance[] {
  return [...instances].sort((a, b) => order(a.since, b.since) || order(a.name, b.name) || order(a.id, b.id));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The URL of a port of an instance. */
export function urlAt(scheme: string, address: string, port: number): string {
  return `${scheme}://${bracketed(address)}:${port}`;
}
