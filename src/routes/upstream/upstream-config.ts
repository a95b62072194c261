import type { RouteBase } from "../route-base.ts";
import type { UpstreamKeys, UpstreamTimeouts, UpstreamTlsConfig } from "./upstream-keys.ts";

/** `type: upstream`: requests go to other servers. docs/upstreams.md */
export interface UpstreamRouteConfig extends Omit<RouteBase, "methods">, UpstreamKeys {
  readonly type: "upstream";
}

/** An owner of targets, as the table of targets sees it: an upstream route, or a stream. */
export type NodeOwner = Pick<
  UpstreamRouteConfig,
  "path" | "prefix" | "targets" | "circuitBreaker" | "healthCheck" | "strictOrigins"
> &
  Partial<Pick<UpstreamRouteConfig, "regex" | "isByRegex">> & {
    readonly timeouts: Pick<UpstreamTimeouts, "connectMs">;
    /** Null if no target speaks TLS with the gateway. */
    readonly tls: UpstreamTlsConfig | null;
    /** Null, or left out, if no target runs scripts. */
    readonly fastcgi?: UpstreamKeys["fastcgi"];
    /** Null, or left out, without settings for applications of uWSGI. */
    readonly uwsgi?: UpstreamKeys["uwsgi"];
    /** Of a new version: the targets of the old one, which stand in for its own. */
    readonly oldTargets?: UpstreamRouteConfig["targets"];
  };
