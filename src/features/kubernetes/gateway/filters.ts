import { trimmedEnd } from "../../../core/trimming.ts";
import type { ResolvedBackend } from "./backend-refs.ts";
import type { BackendReference, HeaderEdit, RouteFilter } from "./shapes.ts";

type Keys = Readonly<Record<string, unknown>>;

/** The place of a route: one of these. */
interface Where {
  readonly path?: string;
  readonly prefix?: string;
  readonly regex?: string;
}

/** The reason of a condition, and its message. */
interface FilterFault {
  readonly reason: string;
  readonly message: string;
}

/** Filters, as keys of a route. */
export interface FilterKeys {
  /** Keys of an upstream route. */
  keys(where: Where): Keys;
  /** Keys of a redirect; null if requests go on. */
  readonly redirect: ((where: Where, scheme: "http" | "https", port: number) => Keys) | null;
  /** Why the rule cannot be served: the reason of a condition; "" if it can. */
  readonly fault: FilterFault;
  /** Why a mirror has no server, though the rule serves; "" if each has one. */
  readonly unresolved: FilterFault;
}

/** Resolves the backends of mirrors. */
interface MirrorPorts {
  resolve(ref: BackendReference): ResolvedBackend;
}

/** The keys that the filters of a rule, or of one of its backends, give its routes. @param ports null allows no mirror */
export function filterKeys(filters: readonly RouteFilter[], ports: MirrorPorts | null): FilterKeys {
  let fault = { reason: "", message: "" };
  let unresolved = fault;
  const fixed: Record<string, unknown> = {};
  const headers: Record<string, unknown> = {};
  let redirect: FilterKeys["redirect"] = null;
  let rewrite: RouteFilter["urlRewrite"];
  const mirrors: Keys[] = [];
  for (const filter of filters) {
    if (filter.type === "RequestHeaderModifier") headers.request = editsOf(filter.requestHeaderModifier);
    else if (filter.type === "ResponseHeaderModifier") headers.response = editsOf(filter.responseHeaderModifier);
    else if (filter.type === "RequestRedirect") redirect = redirectOf(filter.requestRedirect ?? {});
    else if (filter.type === "URLRewrite") rewrite = filter.urlRewrite;
    else if (filter.type === "CORS") fixed.cors = corsOf(filter.cors ?? {});
    else if (filter.type === "RequestMirror" && ports !== null && filter.requestMirror !== undefined) {
      const found = ports.resolve(filter.requestMirror.backendRef);
      if (found.reason !== "" && unresolved.reason === "") unresolved = found;
      const mirror = mirrorOf(filter.requestMirror, found);
      if (mirror !== null) mirrors.push(mirror);
    } else fault = { reason: "UnsupportedValue", message: `the filter ${filter.type} is not served` };
  }
  if (mirrors.length > 0) fixed.mirrors = mirrors;
  if (Object.keys(headers).length > 0) fixed.headers = headers;
  return { keys: (where) => ({ ...fixed, ...rewriteKeys(rewrite, where) }), redirect, fault, unresolved };
}

/** Values are literal: a brace in them begins no placeholder. */
function literal(text: string): string {
  return text.replaceAll("{", "{{").replaceAll("}", "}}");
}

/** Of several of one name, the first counts. */
export function firstOfEach<T>(all: readonly T[], nameOf: (one: T) => string): readonly T[] {
  const taken = new Set<string>();
  return all.filter((one) => {
    const isFirst = !taken.has(nameOf(one));
    taken.add(nameOf(one));
    return isFirst;
  });
}

function editsOf({ set = [], add = [], remove = [] }: HeaderEdit = {}): Keys {
  const lines = (all: typeof set) =>
    Object.fromEntries(
      firstOfEach(all, ({ name }) => name.toLowerCase()).map(({ name, value }) => [name, literal(value)]),
    );
  return {
    ...(set.length > 0 ? { set: lines(set) } : {}),
    ...(add.length > 0 ? { add: lines(add) } : {}),
    ...(remove.length > 0 ? { remove } : {}),
  };
}

function redirectOf({
  scheme,
  hostname,
  port,
  statusCode = 302,
  path,
}: NonNullable<RouteFilter["requestRedirect"]>): FilterKeys["redirect"] {
  return (where, ownScheme, ownPort) => {
    const to = scheme ?? ownScheme;
    const usual = to === "https" ? 443 : 80;
    const number = port ?? (scheme === undefined ? ownPort : usual);
    const host = hostname === undefined ? "{host}" : literal(hostname);
    const suffix = number === usual ? "" : `:${number}`;
    return {
      to: `${to}://${host}${suffix}${pathText(path, where)}`,
      status: statusCode,
      any_host: true,
    };
  };
}

function pathText(
  path: { type: string; replaceFullPath?: string; replacePrefixMatch?: string } | undefined,
  where: Where,
) {
  if (path === undefined) return "{uri}";
  if (path.type === "ReplaceFullPath") return `${literal(path.replaceFullPath ?? "/")}`;
  return prefixed(path.replacePrefixMatch ?? "/", where);
}

/** The path with another beginning: whole elements of it, and no double slash. */
function prefixed(replacement: string, { prefix }: Where): string {
  const start = literal(trimmedEnd(replacement, "/"));
  return prefix === undefined ? start || "/" : `${start}{tail}`;
}

function rewriteKeys(rewrite: RouteFilter["urlRewrite"], where: Where): Keys {
  if (rewrite === undefined) return {};
  const keys: Record<string, unknown> = {};
  const { path, hostname } = rewrite;
  if (path?.type === "ReplaceFullPath") keys.rewrite = { path: literal(path.replaceFullPath ?? "/") };
  else if (path !== undefined) keys.rewrite = { path: prefixed(path.replacePrefixMatch ?? "/", where) };
  if (hostname !== undefined) keys.host_header = hostname;
  return keys;
}

function mirrorOf(
  { percent, fraction }: NonNullable<RouteFilter["requestMirror"]>,
  { addresses, appProtocol, tls }: ResolvedBackend,
): Keys | null {
  // Nothing goes in clear text to a backend that is to be spoken to over TLS.
  const [first] = tls === null ? addresses : [];
  const part = fraction === undefined ? (percent ?? 100) : (fraction.numerator / (fraction.denominator ?? 100)) * 100;
  if (first === undefined || part <= 0) return null;
  const target = `${appProtocol === "kubernetes.io/h2c" ? "h2c" : "http"}://${first}`;
  return part >= 100 ? { target } : { target, share: `${Number(part.toFixed(3))}%` };
}

function corsOf(cors: NonNullable<RouteFilter["cors"]>): Keys {
  const { allowOrigins = [], allowMethods, allowHeaders, exposeHeaders, allowCredentials, maxAge } = cors;
  const hasStar = [allowOrigins, allowMethods, allowHeaders].some((list) => list?.includes("*") === true);
  // With credentials the API asks for the names in the place of a star, and the names of fields of a response are not asked for.
  const exposed = allowCredentials === true ? exposeHeaders?.filter((name) => name !== "*") : exposeHeaders;
  return {
    allowed_origins: allowOrigins,
    ...(allowCredentials === true && hasStar ? { echo_any: true } : {}),
    ...(allowMethods === undefined ? {} : { allowed_methods: allowMethods }),
    ...(allowHeaders === undefined ? {} : { allowed_headers: allowHeaders }),
    ...(exposed === undefined ? {} : { exposed_headers: exposed }),
    ...(allowCredentials === undefined ? {} : { allow_credentials: allowCredentials }),
    max_age: `${maxAge ?? 5}s`,
  };
}
