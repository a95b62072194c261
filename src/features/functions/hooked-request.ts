import { MAX_REQUEST_LINE_BYTES } from "../../core/limits.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId, headerIdFromName } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { CLAIMS } from "../../proto/h1/claimed-fields.ts";
import { canonicalise, deeperReadings } from "../../proto/target/canonical-path.ts";
import { queryWithMark, shownPath } from "../../proto/target/routed-path.ts";
import { fieldsFault } from "./response-record.ts";
import type { Records } from "./wire.ts";

/** A head in the place of a request's, as `onRequest` gives it. */
interface ChangedRequest {
  readonly method: string;
  readonly url: string;
  readonly fields: readonly (readonly [string, string])[];
  /** "k" the body stays as it is, "0" there is none, "1" a whole one, "2" it follows. */
  readonly mode: string;
  readonly body: Buffer | null;
}

/** Reads the fields of the record of a changed request. */
export function readChange(records: Records): ChangedRequest {
  const head = { method: records.line(), url: records.line(), fields: records.fields(), mode: records.line() };
  return { ...head, body: head.mode === "1" ? records.bytes() : null };
}

/** What stays the gateway's: how the request is framed, who it comes from, whom it is for. */
const KEPT: ReadonlySet<HeaderId> = new Set([...HOP_BY_HOP, ...CLAIMS, HeaderId.Host, HeaderId.Expect]);

/**
 * Gives a request the head that a hook has made. What frames it, its Host, and the fields about the client stay: a hook may do what the
 * configuration's `headers.request` and `rewrite` may. docs/functions.md#hooks
 * @returns why the head cannot be sent, or ""
 */
export function changeRequest(ex: Exchange, { method: asked, url, fields }: ChangedRequest): string {
  const { request } = ex;
  const why = fieldsFault(fields);
  if (why !== "") return why;
  const target = URL.parse(url);
  if (target === null) return "its URL is none";
  // A request that a module makes anew is a GET if it does not say more: HEAD is the same without the body.
  const method = asked === "GET" && request.method === Method.Head ? "HEAD" : asked;
  const hasOtherMethod = method !== request.methodText();
  if (hasOtherMethod && !/^[A-Z]{3,16}$/.test(method)) return "its method is none";
  if (hasOtherMethod && (method === "CONNECT" || method === "TRACE")) return `the method ${method} is not sent on`;
  // The client reads the response to its own method, which says whether there is a body.
  if (hasOtherMethod && (method === "HEAD" || request.method === Method.Head))
    return "its method is HEAD, and the client's is not, or the other way round";
  const place = askedTarget(request, target);
  if (place.isPathNew || place.isQueryNew || hasOtherMethod) {
    const fault = retarget(ex, method, place);
    if (fault !== "") return fault;
  }
  replaceFields(ex, fields);
  return "";
}

/** What a module asks for in the place of the target that it was shown. */
interface AskedTarget {
  /** As it goes upstream: where the module has left it alone, as the client wrote it. */
  readonly path: string;
  /** With its question mark. */
  readonly query: string;
  readonly isPathNew: boolean;
  readonly isQueryNew: boolean;
}

/** Compares a URL of a module's with what it was shown of a request, whose target is spelled otherwise, maybe. */
export function askedTarget(request: RequestHead, { pathname, search }: URL): AskedTarget {
  const query = queryWithMark(request);
  const shown = URL.parse(`http://h${shownPath(request)}${query}`);
  const isPathNew = pathname !== shown?.pathname;
  const isQueryNew = search !== shown?.search;
  return { path: isPathNew ? pathname : request.path(), query: isQueryNew ? search : query, isPathNew, isQueryNew };
}

function retarget(ex: Exchange, method: string, { path, query, isPathNew }: AskedTarget): string {
  const { request } = ex;
  // Below the prefix of a folder, a path is looked up.
  const mount = ex.route!.kind.isFolder ? ex.route!.path : null;
  const { sanitised, canonical } = canonicalise(path);
  if (deeperReadings(canonical) === null) return "its path has several readings";
  if (mount !== null && mount !== "/" && canonical !== mount && !canonical.startsWith(`${mount}/`))
    return "its path is not below the prefix of the route";
  const newPath = isPathNew ? sanitised : path;
  if (method.length + 1 + newPath.length + query.length > MAX_REQUEST_LINE_BYTES) return "its URL is too long";
  if (request.authorityTo > request.authorityFrom && request.hostIndex < 0) {
    request.headers.add("Host", request.text(request.authorityFrom, request.authorityTo));
  }
  request.retarget(method, newPath, query);
  if (!isPathNew) return "";
  if (mount !== null) ex.canonicalPath = canonical;
  ex.prefixLength = -1;
  ex.forwardPath = withoutPrefix(sanitised, ex);
  return "";
}

/** Without the prefix of the route, where that is removed, and the path has it. */
export function withoutPrefix(path: string, ex: Exchange): string {
  const route = ex.route!;
  const prefix = route.stripPrefix && !route.init.exact ? route.path : "/";
  if (prefix === "/" || !path.startsWith(prefix)) return path;
  const rest = path.slice(prefix.length);
  return rest === "" ? "/" : rest.startsWith("/") ? rest : path;
}

function replaceFields(ex: Exchange, fields: ChangedRequest["fields"]): void {
  const { headers } = ex.request;
  headers.removeWhere((_, i) => !KEPT.has(headers.ids[i]!));
  for (const [name, value] of fields) if (!KEPT.has(headerIdFromName(name))) headers.add(name, value);
}
