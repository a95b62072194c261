import type { ConfigPosition } from "../../config/config-fault.ts";
import type { TargetConfig } from "../../config/origin.ts";
import { hostAndPort } from "../../core/ip-address.ts";
import type { StreamPolicy } from "../../features/balance/settings.ts";
import type { IpRules } from "../../features/client/settings.ts";
import type { NodeOwner } from "../upstream/upstream-config.ts";
import type { CircuitBreakerConfig, HealthCheckConfig } from "../upstream/upstream-keys.ts";

/** The words at `type` of entries that forward connections or datagrams and know nothing of HTTP. docs/streams.md */
export type StreamType = "tcp" | "udp" | "tls_passthrough";

/** An address to listen on. */
export interface ListenAddress {
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/**
 * One entry of routes.yaml of such a type. All types have all fields: what a type has no key for has the value that means nothing.
 * It is a node's owner, so that its targets are in the one table of targets, with health, breakers and drains.
 */
export interface StreamConfig extends NodeOwner {
  readonly type: StreamType;
  readonly position: ConfigPosition;
  /** Its name in metrics, log and listings, such as `tcp:0.0.0.0:5432` or `tls:db.example.com`. */
  readonly path: string;
  /** Names whose connections go through with their TLS, lower-case, `*.example.com` allowed. */
  readonly hosts: readonly string[];
  readonly listen: readonly ListenAddress[];
  /** Whether TLS ends here, and targets get clear text. */
  readonly endsTls: boolean;
  /** Names of the TLS listeners whose connections they are; none for all. */
  readonly listeners: readonly string[];
  readonly targets: readonly TargetConfig[];
  readonly policy: StreamPolicy;
  readonly healthCheck: HealthCheckConfig;
  readonly circuitBreaker: CircuitBreakerConfig;
  readonly timeouts: { readonly connectMs: number };
  /** Without a byte in either direction. */
  readonly idleTimeoutMs: number;
  /** Further attempts at other targets if one takes no connection. */
  readonly retryAttempts: number;
  /** Whether connections of peers that `server.proxy_protocol` trusts begin with a PROXY header. */
  readonly acceptProxy: boolean;
  /** The PROXY header that targets get first; "" is none. */
  readonly sendProxy: "" | "v1" | "v2";
  /** Datagrams of a target for each of a client's, after which a session is over; -1 if that is not known. */
  readonly responses: number;
  /** Connections, or sessions, at one time, of all workers; 0 is no limit beside the server's. */
  readonly maxConnections: number;
  readonly ipRules: IpRules;
}

/** An address as an operator writes it: `0.0.0.0:5432`, `[::]:53`. */
export function addressText({ host, port }: ListenAddress): string {
  return hostAndPort(host, port);
}
