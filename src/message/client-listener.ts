import { ExtraFields } from "./extra-fields.ts";
import type { HostTable } from "./host-table.ts";

/** The demands for client certificates by name: see `clientDemand`. */
export interface HostDemands {
  readonly byHost: HostTable<string>;
  /** Of all other names. */
  readonly usual: string;
}

/** The facts of a listener that requests need: one object for each listener of a worker, which a reload changes. */
export class ClientListener {
  /** That of the listener that has its address now, once it is gone. */
  name: string;
  /** Whether its peers have no address. */
  readonly isUnix: boolean;
  /** Whether who may open it may do all that operators may. */
  readonly isForOperators: boolean;
  /** The port of https:// to which requests in clear text are redirected; -1 for no redirect. */
  httpsPort = -1;
  /** Names the port of HTTP/3 to clients; null without HTTP/3. */
  altSvc: ExtraFields | null = null;
  /** Null if all names have one demand. */
  demands: HostDemands | null = null;

  constructor(name: string, isUnix = false, isForOperators = false) {
    this.name = name;
    this.isUnix = isUnix;
    this.isForOperators = isForOperators;
  }

  /** Sets the UDP port of HTTP/3. @param port -1 for none */
  offerHttp3(port: number): void {
    this.altSvc = port < 0 ? null : new ExtraFields([["Alt-Svc", `h3=":${port}"; ma=${MAX_AGE_S}`]]);
  }

  /** The demand that the connection of a request for this host must have had. @param host lower-case */
  demandOf(host: string): string {
    const { demands } = this;
    return demands === null ? "" : (demands.byHost.get(host) ?? demands.usual);
  }
}

const MAX_AGE_S = 86_400;

/** Of exchanges that came by none. */
export const NO_LISTENER: ClientListener = new ClientListener("");
