import { compileExpression, isExpressionFault } from "../../../proto/expression/expression.ts";
import type { ObjectStore } from "../object-store.ts";
import type { KubeObject } from "../objects.ts";

/** The target of a path. */
export interface IngressBackend {
  readonly service?: {
    readonly name?: string;
    readonly port?: { readonly name?: string; readonly number?: number };
  };
  readonly resource?: { readonly kind?: string; readonly name?: string };
}

export interface IngressObject extends KubeObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: IngressBackend;
    readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
    readonly rules?: readonly {
      readonly host?: string;
      readonly http?: {
        readonly paths?: readonly {
          readonly path?: string;
          readonly pathType?: string;
          readonly backend?: IngressBackend;
        }[];
      };
    }[];
  };
}

interface ClassObject extends KubeObject {
  readonly spec?: { readonly controller?: string };
}

/** A path of an Ingress, the default backend among them. */
export interface IngressPath {
  /** "" for every host. */
  readonly host: string;
  readonly type: "Exact" | "Prefix" | "Regex";
  readonly path: string;
  readonly backend: IngressBackend;
}

/** The Ingresses of this controller, the oldest first: by their class, by the annotation of before, or by the default class. */
export function ownIngresses(
  store: ObjectStore,
  { controller, ingressClass }: { readonly controller: string; readonly ingressClass: string },
): readonly IngressObject[] {
  const classes = store.list<ClassObject>("IngressClass");
  const ours = new Set(
    classes.filter(({ spec }) => spec?.controller === controller).map(({ metadata }) => metadata.name),
  );
  // Without an object of this name, the name itself counts.
  if (!classes.some(({ metadata }) => metadata.name === ingressClass)) ours.add(ingressClass);
  const isDefault = classes.some(
    ({ metadata }) => ours.has(metadata.name) && metadata.annotations?.[DEFAULT_CLASS] === "true",
  );
  return store.list<IngressObject>("Ingress").filter(({ spec, metadata }) => {
    if (metadata.deletionTimestamp !== undefined) return false;
    const named = spec?.ingressClassName ?? metadata.annotations?.[CLASS];
    return named === undefined ? isDefault : ours.has(named);
  });
}

const CLASS = "kubernetes.io/ingress.class";
const DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class";

/** The paths of an Ingress, the longest first. @param isRegex whether paths are expressions */
export function pathsOf({ spec }: IngressObject, isRegex: boolean): readonly IngressPath[] {
  const { rules = [], defaultBackend } = spec ?? {};
  const all: IngressPath[] = [];
  for (const { host = "", http } of rules) {
    const name = host.toLowerCase();
    for (const { path = "", pathType = "ImplementationSpecific", backend = {} } of http?.paths ?? []) {
      const whole = path === "" ? "/" : path;
      const type = pathType === "Exact" ? "Exact" : isRegex ? "Regex" : "Prefix";
      const isSlashed = type === "Prefix" && whole.length > 1;
      all.push({ host: name, type, path: isSlashed ? whole.replace(/\/$/, "") : whole, backend });
    }
    if (http?.paths === undefined && defaultBackend !== undefined)
      all.push({ host: name, type: "Prefix", path: "/", backend: defaultBackend });
  }
  if (defaultBackend !== undefined) all.push({ host: "", type: "Prefix", path: "/", backend: defaultBackend });
  return all.sort((a, b) => b.path.length - a.path.length);
}

/** Why a path cannot be served, or "". */
export function pathFault(path: IngressPath): string {
  if (path.host !== "" && !isHost(path.host)) return "expected a host name";
  if (path.type !== "Regex") return PLAIN_PATH.test(path.path) ? "" : "expected a path of plain characters";
  const expression = compileExpression(patternOf(path));
  return isExpressionFault(expression) ? expression.fault : "";
}

const PLAIN_PATH = /^\/[^*?#{}\s\\]*$/;

/** As ingress-nginx reads it: without regard to case, from the beginning. */
export function patternOf({ path }: Pick<IngressPath, "path">): string {
  return `^(?i:${path})`;
}

const HOST = /^(\*\.)?[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*$/i;

/** A host name, or a wildcard of its first part. */
export function isHost(text: string): boolean {
  return HOST.test(text) && text.length <= 253;
}
