import { expression } from "../config/expression-kind.ts";
import { block, type ConfigOf, isFaultyAt } from "../config/row.ts";
import { integerOf } from "../config/scalars.ts";
import { urlTemplate } from "../config/template-kind.ts";
import { RedirectHandler } from "../features/answer/redirect-handler.ts";
import { redirectFault } from "../features/answer/redirect-target.ts";
import { RouteKind } from "../message/route.ts";
import { templateOf } from "../proto/template/template.ts";
import { editedHandler } from "./header-operations.ts";
import { noteUnknownGroups } from "./rewrite-keys.ts";
import type { RouteBase } from "./route-base.ts";
import { routeMethods, warnOfCache } from "./route-options.ts";
import type { RouteType } from "./route-type.ts";

const keys = block({
  methods: routeMethods,
  to: {
    // Whether {host} may be in it, the hosts of the route say: `check` below.
    type: urlTemplate("where to, such as https://www.example.com{uri}", {
      faultOf: (to) => redirectFault(to, true),
    }),
    required: "where to, such as https://www.example.com{uri}",
    example: "https://www.example.com{uri}",
    doc: "scheme and server are literal, or {host}; or a path",
  },
  regex: {
    type: expression(),
    absent: "",
    example: "^/old/(.*)$",
    doc: "only paths that fit; its groups are {match.1} and so on",
  },
  status: { type: integerOf(301, 302, 303, 307, 308), default: 308, doc: "status of the redirect" },
});

/** `type: redirect`: clients are sent somewhere else. */
export interface RedirectRouteConfig extends Omit<RouteBase, "methods">, ConfigOf<typeof keys> {
  readonly type: "redirect";
}

/** The row of `type: redirect`: docs/answers.md#redirects */
export const REDIRECT_ROUTE: RouteType<RedirectRouteConfig> = {
  what: "another address",
  sentence: 'a redirect route sends clients to "to"',
  foreignWords: ["redir", "redirection", "moved", "rewrite"],
  marks: ["to"],
  keys,
  check({ to, regex, hosts }, spot) {
    const { log, path } = spot;
    warnOfCache(spot);
    if (log.isFaulty([...path, "to"]) || log.isFaulty([...path, "host"])) return;
    const fault = redirectFault(templateOf(to), hosts.length > 0);
    if (fault !== "") log.fault([...path, "to"], fault);
    else if (!isFaultyAt(spot, "regex")) noteUnknownGroups(to, regex, spot);
  },
  help: {
    doc: "clients are sent to another address",
    prefix: { example: "/old", doc: 'with to: /new{rest}, /old/x leads to /new/x. Or "path:", exactly this path' },
    host: { example: ["example.com"], doc: "every host by default" },
    unlisted: [],
  },
  leadsTo: ({ to }) => to,
  explain: ({ to, regex, status }) => ({ targets: [], to, ...(regex === "" ? {} : { regex }), status }),
  shape: ({ methods }) => ({ kind: RouteKind.Plain, methods, stripPrefix: true }),
  build: (route) => editedHandler(new RedirectHandler(route.to, route.status, route.regex), route),
};
