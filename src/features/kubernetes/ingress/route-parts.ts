import type { IngressPath } from "./ingress-shapes.ts";

type Keys = Readonly<Record<string, unknown>>;

/** A match of a path and the filters that change it; or why there is none. */
interface PathParts {
  readonly match: Keys;
  readonly filters: readonly object[];
}

/** The match of a path, and its rewrite. */
export function rewriteFilter({ type, path }: IngressPath, target: string): PathParts | string {
  const plain =
    type === "Regex"
      ? { type: "RegularExpression", value: `(?i:${path}).*` }
      : { type: type === "Exact" ? "Exact" : "PathPrefix", value: path };
  if (target === "") return { match: plain, filters: [] };
  // What most Ingresses mean by a rewrite: another beginning of the path.
  const [, beginning] = /^(\/[\w.~/-]*?)\(\/\|\$\)\(\.\*\)$/.exec(path) ?? [];
  const [, replaced] = /^(\/(?:[\w.~/-]*\/)?)\$2$/.exec(target) ?? [];
  if (type === "Regex" && beginning !== undefined && replaced !== undefined) {
    const short = replaced === "/" ? "/" : replaced.replace(/\/$/, "");
    return {
      match: { type: "PathPrefix", value: beginning === "" ? "/" : beginning },
      filters: [urlRewrite({ type: "ReplacePrefixMatch", replacePrefixMatch: short })],
    };
  }
  if (/\$\d/.test(target))
    return `rewrite-target ${target} has groups of an expression, which no filter has: write an HTTPRoute`;
  return { match: plain, filters: [urlRewrite({ type: "ReplaceFullPath", replaceFullPath: target })] };
}

function urlRewrite(path: Keys): object {
  return { type: "URLRewrite", urlRewrite: { path } };
}

/** A redirect as a filter; or why it has none. */
export function redirectFilter({ to, status }: { readonly to: string; readonly status: number }): object | string {
  const [start = "", scheme = "", authority = ""] = /^(https?):\/\/([^/]*)/i.exec(to) ?? [];
  const path = to.slice(start.length);
  const [, host = "", port = ""] = /^([^:]*)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  const kept = path === "{uri}" || path === "{path}" || path === "";
  if (!kept && /[{?#]/.test(path)) return `${to} has a query or a variable, which no filter has: write an HTTPRoute`;
  const whole = path === "" ? "/" : path;
  const requestRedirect = {
    ...(scheme === "" ? {} : { scheme: scheme.toLowerCase() }),
    ...(host === "" || host === "{host}" ? {} : { hostname: host.toLowerCase() }),
    ...(port === "" ? {} : { port: Number(port) }),
    ...(path === "{uri}" || path === "{path}" ? {} : { path: { type: "ReplaceFullPath", replaceFullPath: whole } }),
    statusCode: status,
  };
  return { type: "RequestRedirect", requestRedirect };
}

/** A copy of requests for a Service of the namespace; null for another server. */
export function mirrorFilter(target: string, namespace: string): object | null {
  const [, name = "", of = "", port] =
    /^http:\/\/([a-z0-9-]+)(?:\.([a-z0-9-]+)(?:\.svc(?:\.cluster\.local)?)?)?(?::(\d{1,5}))?$/.exec(target) ?? [];
  if (name === "" || (of !== "" && of !== namespace)) return null;
  return { type: "RequestMirror", requestMirror: { backendRef: { name, port: Number(port ?? 80) } } };
}

/** TLS to a Service, checked by the system's roots. */
export function backendTls(namespace: string, service: string, hostname: string): object {
  return {
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "BackendTLSPolicy",
    metadata: { namespace, name: service },
    spec: {
      targetRefs: [{ group: "", kind: "Service", name: service }],
      validation: {
        hostname: hostname === "" ? `${service}.${namespace}.svc` : hostname,
        wellKnownCACertificates: "System",
      },
    },
  };
}

/** The keys that an EdgePolicy carries; null for none. */
export function policySpec(keys: Keys): Keys | null {
  const { tls: _, mirror: __, ...others } = keys;
  return Object.keys(others).length === 0 ? null : others;
}
