import { speaksHttp2, type TargetConfig, usesTls } from "../../config/origin.ts";
import type { RequestSigner } from "../../features/agents/request-signer.ts";
import type { TargetInit } from "../../features/balance/balancer.ts";
import {
  ForwardEnd,
  ForwardHandler,
  type ForwardHandlerPorts,
  RetryBudget,
} from "../../features/forward/forward-handler.ts";
import { Hedge, HedgeChoice } from "../../features/hedge/hedge.ts";
import { HedgedSink } from "../../features/hedge/hedged-sink.ts";
import { Mirror } from "../../features/mirror/mirror.ts";
import { MirrorChoice } from "../../features/mirror/mirror-choice.ts";
import { MIRROR_TOTAL_MS, MirroredExchange } from "../../features/mirror/mirrored-exchange.ts";
import type { ArmTally } from "../../message/arm-tally.ts";
import { type Handler, Pipeline, type Upstream } from "../../message/exchange.ts";
import { PreparedHandler } from "../../message/prepared-handler.ts";
import type { TargetChoice } from "../../message/target.ts";
import { editsBodies } from "../body-edits.ts";
import { type HeaderEdits, type OwnFields, requestEdits, responseEdits } from "../header-operations.ts";
import { labelOf } from "../route-base.ts";
import type { MirrorRoutePorts, RouteTypePorts } from "../route-type.ts";
import { responseRewrite } from "./response-keys.ts";
import type { UpstreamRouteConfig } from "./upstream-config.ts";
import type { MirrorConfig } from "./upstream-keys.ts";

/** Milliseconds that a mirror has for a connection, and for the head of its response and between two pieces. */
const MIRROR_CONNECT_MS = 5000;
const MIRROR_IDLE_MS = 10_000;

/** Makes the handler that sends a route's requests to the targets of a choice. */
export function forwardHandler(
  route: UpstreamRouteConfig,
  choice: TargetChoice,
  services: ForwardHandlerPorts,
): Handler {
  const { enabled, failureStatuses } = route.circuitBreaker;
  const { connectMs, responseHeaderMs, idleMs, totalMs } = route.timeouts;
  return new ForwardHandler(
    {
      preserveHost: route.preserveHost,
      hostHeader: route.hostHeader,
      times: { connectMs, responseHeaderMs, idleMs },
      totalMs,
      retryAttempts: route.retryAttempts,
      retryStatuses: route.retryStatuses.length > 0 ? new Set(route.retryStatuses) : null,
      backoffMs: route.retryBackoffMs,
      canBeRefused: route.targets.some(({ scheme }) => speaksHttp2(scheme)),
      streamsBodies: route.inboundChunkedMode === "passthrough",
      failureStatuses: enabled && failureStatuses.length > 0 ? new Set(failureStatuses) : null,
      requestEdits: requestEdits(
        editsBodies(route) || route.ai !== null ? plainEdits(route.headers.request) : route.headers.request,
        aiFields(route),
      ),
      signer: signerOf(route),
      responseEdits: responseEdits(route.headers.response),
      responseRewrite: responseRewrite(route),
    },
    choice,
    services,
  );
}

/** Asks for a body that is not compressed, so that it can be edited. */
function plainEdits(edits: HeaderEdits): HeaderEdits {
  return { ...edits, set: [...edits.set, { name: "Accept-Encoding", value: "identity" }] };
}

/** The key of the model in place of the client's Authorization. It is loaded if a route has models. */
function aiFields(route: UpstreamRouteConfig): OwnFields | null {
  if (route.ai === null) return null;
  const { modelFields } = require("./ai-fields.ts") as typeof import("./ai-fields.ts");
  return modelFields(route.ai.models);
}

/** What signs is loaded where a route asks for it. */
function signerOf({ sign, targets }: UpstreamRouteConfig): RequestSigner | null {
  if (sign === null) return null;
  const { RequestSigner: Signer } =
    require("../../features/agents/request-signer.ts") as typeof import("../../features/agents/request-signer.ts");
  return new Signer(sign, targets.every(({ scheme }) => usesTls(scheme)) ? "https" : "http");
}

/** Puts mirrors beside a route's handler. docs/upstreams.md#mirroring */
export function mirroringHandler(
  route: UpstreamRouteConfig,
  inner: Handler,
  forward: ForwardHandlerPorts,
  services: MirrorRoutePorts,
): Handler {
  const mirrors = route.mirrors.map((one) => mirrorOf(route, one, forward, services));
  return new PreparedHandler(inner, (ex) => {
    const wanting = mirrors.filter((one) => one.wants(ex));
    if (wanting.length === 0) return;
    // The copies have the request's id.
    forward.requestIds.assign(ex);
    ex.sink = new MirroredExchange(wanting, ex);
  });
}

function mirrorOf(
  route: UpstreamRouteConfig,
  { target, share, compare }: MirrorConfig,
  forward: ForwardHandlerPorts,
  services: MirrorRoutePorts,
): Mirror {
  const settings = { route: labelOf(route), upstream: target.originKey, share, compares: compare };
  const choice = new MirrorChoice(services.poolOf(target, route), target.basePath, services.turn, {
    onSent: () => services.listener.onMirrored(settings.route, "sent"),
    isDrained: services.drainOf(target.originKey),
  });
  const copies = new ForwardHandler(
    {
      preserveHost: route.preserveHost,
      times: { connectMs: MIRROR_CONNECT_MS, responseHeaderMs: MIRROR_IDLE_MS, idleMs: MIRROR_IDLE_MS },
      totalMs: MIRROR_TOTAL_MS,
      retryAttempts: 0,
      retryStatuses: null,
      backoffMs: 0,
      canBeRefused: false,
      streamsBodies: false,
      failureStatuses: null,
      requestEdits: requestEdits(route.headers.request),
      signer: null,
      responseEdits: null,
      responseRewrite: null,
    },
    choice,
    forward,
  );
  const pipeline = new Pipeline([], [], [new ForwardEnd()], null, forward.requestIds);
  return new Mirror(settings, choice, copies, pipeline, services);
}

/** Sends slow requests of a route to a second target. docs/upstreams.md#hedging */
export function hedgingHandler(
  route: UpstreamRouteConfig,
  inner: Handler,
  choice: TargetChoice,
  forward: ForwardHandlerPorts,
  ports: MirrorRoutePorts,
): Handler {
  const { totalMs } = route.timeouts;
  const settings = { route: labelOf(route), afterMs: route.hedge!.afterMs, totalMs };
  const choiceOfSecond = new HedgeChoice(choice, () => ports.listener.onHedge(settings.route, "sent"));
  const second = forwardHandler({ ...route, retryAttempts: 0 }, choiceOfSecond, forward);
  const pipeline = new Pipeline([], [], [new ForwardEnd()], null, forward.requestIds);
  const hedge = new Hedge(settings, second, pipeline, ports, new RetryBudget());
  return new PreparedHandler(inner, (ex) => {
    if (hedge.wants(ex)) ex.sink = new HedgedSink(hedge, ex);
  });
}

/** The targets of a route that may get requests. @param poolOf gives the connections to one @param tally counts their responses */
export function targetsOf(
  route: UpstreamRouteConfig,
  poolOf: (target: TargetConfig) => Upstream,
  site: Pick<RouteTypePorts, "nodesOf" | "slotsOf">,
  tally: ArmTally | null = null,
): TargetInit[] {
  const routeNodes = site.nodesOf(route);
  const gate = site.slotsOf(route);
  gate?.useLanes((lane) => routeNodes[lane]!.isUsable());
  return route.targets.flatMap((target, i) => {
    if (target.weight === 0) return [];
    // A target that is listed twice counts twice.
    const earlier = route.targets.slice(0, i).filter((one) => one.url === target.url).length;
    return [
      {
        upstream: poolOf(target),
        node: routeNodes[i]!,
        weight: target.weight,
        backup: target.backup,
        basePath: target.basePath,
        name: `${target.url}#${earlier}`,
        ...(tally === null ? {} : { tally }),
        ...(gate === null ? {} : { slots: { gate, lane: i } }),
      },
    ];
  });
}
