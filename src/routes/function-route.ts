import * as v from "valibot";
import { quote } from "../config/config-fault.ts";
import { moduleFile } from "../config/module-file.ts";
import { block, type ConfigOf } from "../config/row.ts";
import { duration, text } from "../config/scalars.ts";
import { internalTls } from "../config/tls-settings.ts";
import { ForwardEnd } from "../features/forward/forward-handler.ts";
import type { UpstreamPorts } from "../features/functions/function-upstream.ts";
import { type Handler, Pipeline, Verdict } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import { RouteKind } from "../message/route.ts";
import { editedHandler, namesChanged, requestEditedHandler } from "./header-operations.ts";
import type { RouteBase } from "./route-base.ts";
import { routeMethods } from "./route-options.ts";
import type { RouteType, RouteTypePorts, TargetStatus } from "./route-type.ts";
import type { UpstreamRouteConfig } from "./upstream/upstream-config.ts";
import { upstreamKeys } from "./upstream/upstream-keys.ts";
import { explainTarget, upstreamHandler } from "./upstream/upstream-route.ts";

const keys = block(
  {
    methods: routeMethods,
    tls: internalTls,
    module: {
      type: moduleFile(),
      required: "the file of the function, such as ./functions/hello.ts",
      example: "./functions/hello.ts",
      doc: "your module; its default export has fetch(request, ctx)",
    },
    timeout: { type: duration(1), default: "10s", doc: "until its response begins: 504 beyond" },
    target: {
      type: text("a server address"),
      absent: "",
      example: "http://10.0.0.5:8000",
      doc: "where ctx.upstream() goes",
    },
  },
  {
    finish({ target }, _values, spot) {
      // With a target, a route has all that one of type: upstream has: pools, probes, a breaker.
      if (target === "") return {};
      if (/^(?:fastcgi|uwsgi|scgi):/i.test(target)) {
        const cure = "a route with type: upstream runs scripts";
        spot.log.fault(
          [...spot.path, "target"],
          `expected a server that speaks HTTP, found ${quote(target)}: ${cure}`,
          true,
        );
        return {};
      }
      if (target.startsWith("{map.")) {
        spot.log.fault([...spot.path, "target"], "a map names targets of routes with type: upstream alone", true);
        return {};
      }
      const { methods: _, ...origin } = upstreamKeys.resolve(v.parse(upstreamKeys, { target }), spot);
      return origin as object;
    },
    list: ({ methods, module, timeoutMs: _, target }, lines) => ({
      methods,
      module,
      timeout: lines.timeout,
      ...(target === "" ? {} : { target }),
    }),
  },
);

/** `type: function`: a module of the user's own makes responses. With a target, it has the fields of `type: upstream` too. */
interface FunctionRouteConfig extends Omit<RouteBase, "methods">, ConfigOf<typeof keys> {
  readonly type: "function";
}

/** The row of `type: function`: docs/functions.md */
export const FUNCTION_ROUTE: RouteType<FunctionRouteConfig> = {
  what: "a function of your own",
  sentence: 'a function route answers with the function in "module"',
  foreignWords: ["script", "lambda", "worker", "handler", "js", "lua"],
  marks: ["module"],
  keys,
  help: {
    doc: "a function of your own, in TypeScript",
    prefix: { example: "/function", doc: 'Or "path:", exactly this path' },
    host: { example: ["example.com"], doc: "every host by default" },
    unlisted: [],
  },
  explain,
  leadsTo: ({ module }) => module,
  shape: ({ methods, headers }) => ({
    kind: RouteKind.Function,
    methods,
    stripPrefix: true,
    ownFields: namesChanged(headers.request),
  }),
  build,
};

/** It does not disclose where the module is. */
function explain(route: FunctionRouteConfig, statusOf: TargetStatus): object {
  const origin = originOf(route);
  const targets = origin === null ? [] : origin.targets;
  return {
    targets: targets.map((target) => explainTarget(target, statusOf(target.originKey, origin))),
    timeout_ms: route.timeoutMs,
  };
}

/** The route as the gateway sends requests of `ctx.upstream()`; null without a target. */
function originOf(route: FunctionRouteConfig): UpstreamRouteConfig | null {
  if (!("targets" in route)) return null;
  // What the function's request has got, and what the response to the client gets, is not done twice.
  const headers = { request: {} as never, response: {} as never };
  return { ...(route as unknown as UpstreamRouteConfig), headers };
}

function build(route: FunctionRouteConfig, site: RouteTypePorts): Handler {
  if (site.functions === null) return UNASKED;
  const functions = site.functions();
  functions.use(site.config.functions);
  const origin = originOf(route);
  const { module, timeoutMs } = route;
  const upstream = origin === null ? null : upstreamSite(origin, site);
  const handler = functions.handlerOf({ module, timeoutMs, upstream });
  return editedHandler(requestEditedHandler(handler, route), route);
}

function upstreamSite(origin: UpstreamRouteConfig, site: RouteTypePorts): UpstreamPorts {
  const pipeline = new Pipeline([], [], [new ForwardEnd()], null, site.forward.requestIds);
  return { handler: upstreamHandler(origin, site), pipeline, idle: IDLE_PORTS };
}

/** In the place of a function, if a request is explained. */
const UNASKED: Handler = { name: "function", handle: () => Verdict.Done };
