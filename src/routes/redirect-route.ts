import { resolved } from "../config/piece.ts";
import { block, type ConfigOf, isFaultyAt } from "../config/row.ts";
import { fileName, flag, integerOf } from "../config/scalars.ts";
import { urlTemplate } from "../config/template-kind.ts";
import { internalTls } from "../config/tls-settings.ts";
import { ListedRedirectHandler, RedirectHandler } from "../features/answer/redirect-handler.ts";
import { readRedirectList } from "../features/answer/redirect-list.ts";
import { redirectFault } from "../features/answer/redirect-target.ts";
import { noteListFaults } from "../features/lists/list-notes.ts";
import { RouteKind } from "../message/route.ts";
import { templateOf } from "../proto/template/template.ts";
import { editedHandler } from "./header-operations.ts";
import { noteUnknownGroups } from "./rewrite-keys.ts";
import type { RouteBase } from "./route-base.ts";
import { routeMethods } from "./route-options.ts";
import type { RouteSpot } from "./route-spot.ts";
import type { RouteType } from "./route-type.ts";

const keys = block({
  methods: routeMethods,
  tls: internalTls,
  to: {
    // Whether {host} may be in it, the hosts of the route say: `check` below.
    type: urlTemplate("where to, such as https://www.example.com{uri}", {
      faultOf: (to) => redirectFault(to, true),
    }),
    absent: "",
    example: "https://www.example.com{uri}",
    doc: "the URL or path to redirect to; scheme and server are literal, or {host}",
  },
  any_host: {
    type: flag(),
    default: false,
    field: "isForAnyHost",
    doc: "true: {host} may be the server of to without a host in the route; then clients choose it",
  },
  list: {
    type: resolved(fileName(), (name, { files, path }) => files.file(path, name)),
    absent: "",
    example: "./redirects.csv",
    doc: "or a file of redirects: from,to,status in each line; no prefix is needed",
  },
  status: {
    type: integerOf(301, 302, 303, 307, 308),
    default: 308,
    doc: "the status of the redirect; with a list, of lines without one",
  },
});

/** `type: redirect`: clients are sent somewhere else. */
interface RedirectRouteConfig extends Omit<RouteBase, "methods">, ConfigOf<typeof keys> {
  readonly type: "redirect";
}

/** The row of `type: redirect`: docs/answers.md#redirects */
export const REDIRECT_ROUTE: RouteType<RedirectRouteConfig> = {
  what: "another address",
  sentence: 'a redirect route sends clients to "to"',
  foreignWords: ["redir", "redirection", "moved", "rewrite"],
  marks: ["to", "list"],
  isWritten: true,
  idleKeys: {
    cache: "responses of the gateway's own are not stored",
    compression: "a redirect has a line of text as its body",
    rewrite_body: "clients follow Location, not the body: write the address in to",
    ssi: "a redirect has no page",
    limit_rate: "a redirect has a line of text as its body",
    "headers.request": "no server gets the request",
  },
  needsNoPlace: ({ list }) => (list ?? null) !== null,
  keys,
  check(route, spot) {
    const { to, regex, hosts, isForAnyHost } = route;
    const { log, path } = spot;
    if (checkList(route, spot) || to === "") return;
    if (log.isFaulty([...path, "to"]) || log.isFaulty([...path, "host"])) return;
    const fault = redirectFault(templateOf(to), hosts.length > 0 || isForAnyHost);
    if (fault !== "") log.fault([...path, "to"], fault);
    else if (!isFaultyAt(spot, "regex")) noteUnknownGroups(to, regex, [...path, "to"], spot);
  },
  help: {
    doc: "clients are sent to another address",
    prefix: { example: "/old", doc: 'with to: /new{rest}, /old/x leads to /new/x. Or "path:", exactly this path' },
    host: { example: ["example.com"], doc: "every host by default" },
    unlisted: [],
  },
  leadsTo: ({ to, list }) => (list === "" ? to : list),
  explain: ({ to, list, status }) => ({
    targets: [],
    ...(list === "" ? { to } : { list }),
    status,
  }),
  shape: ({ methods }) => ({ kind: RouteKind.Plain, methods, stripPrefix: true }),
  build(route, { redirects }) {
    const { list, to, status } = route;
    const handler = list === "" ? new RedirectHandler(to, status) : new ListedRedirectHandler(redirects(list), status);
    return editedHandler(handler, route);
  },
};

/** Notes the faults of a list, and of the keys beside it. @returns whether the route has one */
function checkList({ to, list, regex, path: exact }: RedirectRouteConfig, { log, path, entry }: RouteSpot): boolean {
  const isFaulty = log.isFaulty([...path, "to"]) || log.isFaulty([...path, "list"]);
  if (list === "") {
    if (to === "" && !isFaulty)
      log.fault(
        [...path, "to"],
        "missing: expected where to, such as https://www.example.com{uri}, or list, a file of redirects",
      );
    return false;
  }
  if (to !== "") log.fault([...path, "to"], "a redirect has either to or list: remove one", true);
  if (regex !== "")
    log.fault([...path, "regex"], "has no place beside list, whose lines have the paths: remove it", true);
  if (exact !== "")
    log.fault([...path, "path"], "has no place beside list, whose lines have the paths: remove it", true);
  if (!isFaulty)
    noteListFaults("redirects", { file: list, name: String(entry.list) }, readRedirectList, {
      log,
      path: [...path, "list"],
    });
  return true;
}
