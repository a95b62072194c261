import { ipVersion } from "../../../../core/ip-address.ts";
import type { Instance } from "../labels/instance.ts";
import { textOf, textsIn } from "./engine.ts";

/** A container, as an engine describes it. */
export interface ContainerFacts {
  /** Null if it gets no requests: stopped, paused, starting, unhealthy. */
  readonly container: Instance | null;
  /** Seconds that a stop leaves it. */
  readonly stopSeconds: number;
  /** The signal that stops it, as a number or a name. */
  readonly stopSignal: string;
}

/** Reads the document of `/containers/ID/json`; null for any other. */
export function containerFacts(document: unknown): ContainerFacts | null {
  const { Id, Name, State, Config, NetworkSettings, HostConfig } = fieldsOf(document);
  const id = textOf(Id);
  if (id === "") return null;
  const { Running, Paused, Restarting, Health, Status, StartedAt } = fieldsOf(State);
  const { Labels, ExposedPorts, StopTimeout, StopSignal } = fieldsOf(Config);
  const network = fieldsOf(NetworkSettings);
  const health = textOf(fieldsOf(Health).Status);
  const isRunning = Running === true || (Running === undefined && Status === "running");
  const isReady = isRunning && Paused !== true && Restarting !== true && /^(|none|healthy)$/.test(health);
  const container = {
    id,
    name: textOf(Name).replace(/^\//, "") || id.slice(0, 12),
    scope: "",
    since: textOf(StartedAt),
    labels: textsIn(Labels),
    addresses: addressesOf(network, textOf(fieldsOf(HostConfig).NetworkMode)),
    ports: portsOf(ExposedPorts, network.Ports),
  };
  return {
    container: isReady ? container : null,
    stopSeconds: typeof StopTimeout === "number" && StopTimeout >= 0 ? Math.min(StopTimeout, MAX_STOP_SECONDS) : 10,
    stopSignal: textOf(StopSignal).replace(/^SIG/, "") || "TERM",
  };
}

/** `/containers/json`: the labels of each by its id. @throws Error for any other document */
export function listedContainers(document: unknown): ReadonlyMap<string, Readonly<Record<string, string>>> {
  if (!Array.isArray(document)) throw new Error("/containers/json: the response is no list");
  const found = new Map<string, Readonly<Record<string, string>>>();
  for (const one of document.slice(0, MAX_CONTAINERS)) {
    const { Id, Labels } = fieldsOf(one);
    if (textOf(Id) !== "") found.set(textOf(Id), textsIn(Labels));
  }
  return found;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

/** A container that shares the network of the machine is at the machine's own address. */
function addressesOf({ Networks, IPAddress }: Readonly<Record<string, unknown>>, mode: string): Record<string, string> {
  if (mode === "host") return { host: "127.0.0.1" };
  const found = Object.entries(fieldsOf(Networks)).flatMap(([name, one]): [string, string][] => {
    const { IPAddress: v4, GlobalIPv6Address: v6 } = fieldsOf(one);
    const address = [textOf(v4), textOf(v6)].find((each) => ipVersion(each) !== 0);
    return address === undefined ? [] : [[name, address]];
  });
  if (found.length === 0 && ipVersion(textOf(IPAddress)) !== 0) return { [mode || "bridge"]: textOf(IPAddress) };
  return Object.fromEntries(found);
}

function portsOf(...maps: readonly unknown[]): number[] {
  const names = maps.flatMap((map) => Object.keys(fieldsOf(map)));
  const ports = names.flatMap((name) => {
    const [, digits] = /^(\d{1,5})(?:\/tcp)?$/.exec(name) ?? [];
    return digits === undefined ? [] : [Number(digits)];
  });
  return [...new Set(ports)].filter((port) => port > 0 && port < 65_536).sort((a, b) => a - b);
}

/** More are not looked at. */
export const MAX_CONTAINERS = 20_000;
const MAX_STOP_SECONDS = 600;
