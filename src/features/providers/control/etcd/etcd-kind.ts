import { join } from "node:path";
import { type ConfigFault, formatFault } from "../../../../config/config-fault.ts";
import { MAX_ROUTE_BYTES } from "../../../../core/route-name.ts";
import type { RouteFile } from "../../../../loading/route-folder.ts";
import type { EtcdConfig } from "../../settings.ts";
import { hostBound } from "../live/host-bound.ts";
import type { LiveLists, SourceKind } from "../live/source-kind.ts";
import { textFault } from "../route-text.ts";
import { type EtcdValue, TOO_LONG } from "./etcd-client.ts";
import { EtcdWatch } from "./etcd-watch.ts";

/** Values of keys of etcd as a source of routes. docs/providers.md#etcd */
export function etcdKind(folder: string): SourceKind<EtcdConfig, EtcdValue> {
  return {
    source: "etcd",
    part: "etcd-values",
    lists: new EtcdLists(folder),
    configOf: ({ providers }) => providers.etcd,
    placeOf: ({ endpoints, prefix }) => [...endpoints, prefix].join(" "),
    watch: (config, ports, before) => new EtcdWatch(config, ports, before),
    isItem: (one): one is EtcdValue => {
      const { key, text } = (one ?? {}) as Partial<EtcdValue>;
      return typeof key === "string" && typeof text === "string";
    },
  };
}

/** Each value as a list beside routes.yaml. */
class EtcdLists implements LiveLists<EtcdConfig, EtcdValue> {
  readonly faults = [];
  readonly targets: ReadonlySet<string> = new Set();
  private readonly folder: string;
  private lists: readonly RouteFile[] = [];

  /** @param folder from which paths in routes count */
  constructor(folder: string) {
    this.folder = folder;
  }

  files(): readonly RouteFile[] {
    return this.lists;
  }

  use(values: readonly EtcdValue[], { prefix, hosts, trusted }: EtcdConfig): void {
    this.lists = values.map(({ key, text }) => ({
      source: "etcd",
      // No file of a folder of routes has this path.
      file: {
        name: key,
        path: join(this.folder, `etcd:${encodeURIComponent(key)}:${trusted ? "" : "confined"}`),
        bytes: Buffer.from(text),
      },
      ...faultOf(text, trusted),
      hosts: hostBound(key.slice(prefix.length).replace(/^\//, ""), hosts),
      isLeftOut: true,
      isConfined: !trusted,
      isGuest: !trusted,
    }));
  }

  clear(): void {
    this.lists = [];
  }

  shownFault(_: string, fault: ConfigFault): string {
    return formatFault(fault);
  }
}

function faultOf(text: string, isTrusted: boolean): Pick<RouteFile, "fault"> {
  const long = `the value has more than ${MAX_ROUTE_BYTES} bytes: divide it among several keys`;
  const fault = text === TOO_LONG ? long : isTrusted ? "" : textFault(text);
  return fault === "" ? {} : { fault };
}
