import type { OriginConfig } from "../config/origin.ts";
import type { AiCounts } from "../features/ai/ai-counts.ts";
import type { AiConfig } from "../features/ai/settings.ts";
import type { TokenLimit } from "../features/ai/token-limit.ts";
import type { RedirectList } from "../features/answer/redirect-list.ts";
import type { UpstreamNode } from "../features/balance/balancer.ts";
import type { CanaryCell } from "../features/canary/canary-cells.ts";
import type { FilePorts } from "../features/files/file-handler.ts";
import type { ForwardHandlerPorts } from "../features/forward/forward-handler.ts";
import type { UpstreamPorts } from "../features/functions/function-upstream.ts";
import type { HookPorts } from "../features/functions/hook-call.ts";
import type { HedgeListener } from "../features/hedge/hedge.ts";
import type { RateLimitListener } from "../features/limit/rate-limit-phase.ts";
import type { MirrorHandlerPorts } from "../features/mirror/mirror.ts";
import type { Handler, Phase, RouteInit, Upstream } from "../message/exchange.ts";
import type { SlotGate } from "../message/slot-gate.ts";
import type { Sections } from "../settings/sections.ts";
import type { RouteBase } from "./route-base.ts";
import type { RouteSyntax } from "./route-syntax.ts";
import type { NodeOwner, UpstreamRouteConfig } from "./upstream/upstream-config.ts";

/**
 * A type of route: everything that the gateway knows of it, one row of the table in route-types.ts. Nothing else asks which type a
 * route has. `RouteSyntax` has the part for the files.
 */
export interface RouteType<C extends RouteBase = RouteBase> extends RouteSyntax<C> {
  /** Its own members in `/internal/api/routes`, beside those of every route; `targets` is [] without targets. */
  explain(route: C, statusOf: TargetStatus): object;
  /** Its destination, in a few words, for the summary of a start; left out if the type says all. */
  leadsTo?(route: C): string;
  /** What phases ask of the route for each request. */
  shape(route: C): RouteShape;
  /** Makes what answers, once a configuration and worker. */
  build(route: C, site: RouteTypePorts): Handler;
  /**
   * Makes what takes its place where a request is explained (docs/explain.md), for a type whose handler opens files: all that is decided
   * before that is decided likewise, then `look` learns of the file, an absolute path. Without it, `build` is asked.
   */
  rehearse?(route: C, look: (file: string) => void, site: RouteTypePorts): Handler;
}

/** The part of a routing table's row that depends on the type. */
export type RouteShape = Pick<RouteInit, "kind" | "methods" | "stripPrefix" | "streamsHttp2" | "ownFields"> &
  Partial<Pick<RouteInit, "chunkedMode">>;

/** Says the state of a route's target (null for a transcoded one), such as `CLOSED`. docs/endpoints.md#upstreams */
export type TargetStatus = (originKey: string, route: NodeOwner | null) => TargetState;

/** How a target is, without asking it. */
export interface TargetState {
  /** A word of the breaker. docs/upstreams.md#circuit-breaker */
  readonly status: string;
  /** Whether an operator has taken it out. */
  readonly drained: boolean;
}

/** What mirrors and second requests are made with. */
export interface MirrorRoutePorts extends MirrorHandlerPorts {
  readonly listener: MirrorHandlerPorts["listener"] & HedgeListener;
  /** The connections to a mirror, apart from connections for clients. */
  poolOf: RouteTypePorts["poolOf"];
  /** Says of a mirror whether an operator has drained it. */
  drainOf: (originKey: string) => () => boolean;
}

/** A function that a route asks. */
export interface FunctionUse {
  /** The absolute path of its module. */
  readonly module: string;
  /** From a request to the head of its response. */
  readonly timeoutMs: number;
  /** Where `ctx.upstream()` goes; null without a target. */
  readonly upstream: UpstreamPorts | null;
}

/** The modules of a worker. */
export interface FunctionRoutePorts {
  /** Takes the bounds of a configuration. */
  use(config: Sections["functions"]): void;
  handlerOf(use: FunctionUse): Handler;
  /** The phase that asks hooks. @param routes by their numbers @param budget where bodies are held for them */
  hookPhase(config: Sections, routes: readonly (RouteBase | null)[], budget: HookPorts["budget"]): Phase;
}

/** What handlers are made with: the parts of a worker that routes share. */
export interface RouteTypePorts {
  readonly config: Sections & { readonly routes: readonly object[] };
  readonly files: FilePorts;
  readonly forward: ForwardHandlerPorts;
  /** Loads what asks functions; null if a request is explained, and they are not asked. */
  readonly functions: (() => FunctionRoutePorts) | null;
  /** What mirrors are made with; null if nothing is mirrored. */
  readonly mirrors: MirrorRoutePorts | null;
  /** Counters and limits of language models. */
  readonly ai: {
    readonly counts: AiCounts;
    /** Makes a limit that all workers share. @param purpose limits with the same one share their buckets */
    limit(tokens: NonNullable<AiConfig["tokens"]>, purpose: string): TokenLimit;
    readonly onLimited: RateLimitListener["onLimited"];
  };
  /** What sticky cookies are made with where their route has no secret. */
  readonly cookieKey: string;
  /** The redirects of a list's file. */
  redirects(file: string): RedirectList;
  /** The connections to a target. */
  poolOf(target: OriginConfig, route: Pick<UpstreamRouteConfig, "tls" | "strictOrigins" | "fastcgi">): Upstream;
  /** The nodes of a route's targets, in their order. */
  nodesOf(route: UpstreamRouteConfig): readonly UpstreamNode[];
  /** The slots of a route's targets, a lane each; null if none has a limit. */
  slotsOf(route: UpstreamRouteConfig): SlotGate | null;
  /** The rollout of a route's new version; null without one. */
  canaryOf(route: UpstreamRouteConfig): CanaryCell | null;
}
