import type { KubeObject, ObjectCondition } from "../objects.ts";

/** Names of kinds of the Gateway API, as references write them. */
export const GATEWAY_GROUP = "gateway.networking.k8s.io";

/** A reference to an object; members that are left out are the referring object's, or the usual. */
export interface Reference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface ParentReference extends Reference {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface BackendReference extends Reference {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface HeaderEdit {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}

interface PathModifier {
  readonly type: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderEdit;
  readonly responseHeaderModifier?: HeaderEdit;
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly port?: number;
    readonly statusCode?: number;
    readonly path?: PathModifier;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
  readonly requestMirror?: {
    readonly backendRef: BackendReference;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly cors?: {
    readonly allowOrigins?: readonly string[];
    readonly allowMethods?: readonly string[];
    readonly allowHeaders?: readonly string[];
    readonly exposeHeaders?: readonly string[];
    readonly allowCredentials?: boolean;
    readonly maxAge?: number;
  };
}

export interface FieldMatch {
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface RouteMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  /** A word for HTTPRoute, service and method for GRPCRoute. */
  readonly method?: string | { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly FieldMatch[];
  readonly queryParams?: readonly FieldMatch[];
}

export interface RouteRule {
  readonly name?: string;
  readonly matches?: readonly RouteMatch[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendReference[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: { readonly codes?: readonly number[]; readonly attempts?: number; readonly backoff?: string };
}

/** HTTPRoute, GRPCRoute, TLSRoute, TCPRoute or UDPRoute. */
export interface RouteObject extends KubeObject {
  readonly spec?: {
    readonly parentRefs?: readonly ParentReference[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly RouteRule[];
  };
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Whose objects may be attached. */
export interface NamespacesFrom {
  readonly from?: string;
  readonly selector?: LabelSelector;
}

export interface FrontendValidation {
  readonly caCertificateRefs?: readonly Reference[];
  readonly mode?: string;
}

export interface ListenerShape {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: {
    readonly mode?: string;
    readonly certificateRefs?: readonly Reference[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: {
    readonly namespaces?: NamespacesFrom;
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface GatewayObject extends KubeObject {
  readonly spec?: {
    readonly gatewayClassName?: string;
    readonly listeners?: readonly ListenerShape[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly allowedListeners?: { readonly namespaces?: NamespacesFrom };
    readonly infrastructure?: { readonly parametersRef?: Reference };
    readonly tls?: {
      readonly frontend?: {
        readonly default?: { readonly validation?: FrontendValidation };
        readonly perPort?: readonly {
          readonly port: number;
          readonly tls?: { readonly validation?: FrontendValidation };
        }[];
      };
      readonly backend?: { readonly clientCertificateRef?: Reference };
    };
  };
}

export interface ListenerSetObject extends KubeObject {
  readonly spec?: {
    readonly parentRef?: Reference;
    readonly listeners?: readonly ListenerShape[];
  };
}

/** A condition of an object at a generation. */
export function condition(
  generation: number | undefined,
  type: string,
  isTrue: boolean,
  reason: string,
  message: string = "",
): ObjectCondition {
  return { type, status: isTrue ? "True" : "False", reason, message, observedGeneration: generation ?? 0 };
}

/** Whether a selector chooses an object with these labels. */
export function isSelected(labels: Readonly<Record<string, string>>, selector: LabelSelector | undefined): boolean {
  if (selector === undefined) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const labelOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  if (!Object.entries(matchLabels).every(([key, value]) => labelOf(key) === value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = labelOf(key);
    if (operator === "In") return value !== undefined && values.includes(value);
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    if (operator === "Exists") return value !== undefined;
    return operator === "DoesNotExist" && value === undefined;
  });
}
