import { isHostName } from "../../config/origin.ts";
import { ipVersion } from "../../core/ip-address.ts";

/** What of a configuration the names follow from. */
export interface InternalScope {
  /** Whether names of this machine and below `localhost` are signed, too: `tls: internal` of the server or of a listener. */
  readonly isWhole: boolean;
  /** Hosts of routes. */
  readonly hosts: readonly string[];
}

/** The names that the local authority signs: of this machine, of the hosts of routes, and all below `localhost`. docs/tls.md#a-local-authority */
export class InternalNames {
  /** Hosts of routes, lower-case, in their order. */
  readonly hosts: ReadonlySet<string>;
  /** Addresses that are hosts of routes. */
  readonly addresses: readonly string[];
  /** `.localhost`, and `.example.test` for the host `*.example.test`. */
  private readonly suffixes: ReadonlySet<string>;

  constructor({ isWhole, hosts }: InternalScope) {
    const all = new Set(hosts.map((host) => host.toLowerCase()));
    const bare = [...all].map((host) => host.replace(/^\[|\]$/g, ""));
    this.addresses = bare.filter((host) => ipVersion(host) !== 0);
    this.suffixes = new Set([
      ...(isWhole ? [".localhost"] : []),
      ...bare.filter((host) => host.startsWith("*.")).map((host) => host.slice(1)),
    ]);
    this.hosts = new Set(bare.filter((host) => ipVersion(host) === 0 && !host.includes("*")));
  }

  /** Whether a client that asks for this name gets a certificate. @param name lower-case */
  takes(name: string): boolean {
    if (this.hosts.has(name)) return true;
    if (!isHostName(name) || name.endsWith(".")) return false;
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1))
      if (dot > 0 && this.suffixes.has(name.slice(dot))) return true;
    return false;
  }
}
