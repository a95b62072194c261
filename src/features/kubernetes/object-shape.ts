/**
 * The shape of a value: `text`, `number`, `flag`, `texts` (a map of texts), a list of one shape, or the members of an object. With `!` it must be there.
 * Members that no shape names may be anything.
 */
type Shape = "text" | "text!" | "number" | "number!" | "flag" | "texts" | "any" | readonly [Shape] | ShapeMembers;

interface ShapeMembers {
  readonly [member: string]: Shape;
}

const META: Shape = {
  name: "text!",
  namespace: "text",
  uid: "text",
  resourceVersion: "text",
  generation: "number",
  creationTimestamp: "text",
  deletionTimestamp: "text",
  labels: "texts",
  annotations: "texts",
};
const REF: Shape = {
  group: "text",
  kind: "text",
  namespace: "text",
  name: "text!",
  sectionName: "text",
  port: "number",
};
const SELECTOR: Shape = {
  matchLabels: "texts",
  matchExpressions: [{ key: "text!", operator: "text!", values: ["text"] }],
};
const FROM: Shape = { from: "text", selector: SELECTOR };
const LISTENERS: Shape = [
  {
    name: "text!",
    hostname: "text",
    port: "number!",
    protocol: "text!",
    tls: { mode: "text", certificateRefs: [REF], options: "texts" },
    allowedRoutes: { namespaces: FROM, kinds: [{ group: "text", kind: "text!" }] },
  },
];
const EDITED: Shape = [{ name: "text!", value: "text!" }];
const EDIT: Shape = { set: EDITED, add: EDITED, remove: ["text"] };
const PATH: Shape = { type: "text!", replaceFullPath: "text", replacePrefixMatch: "text" };
const FILTERS: Shape = [
  {
    type: "text!",
    requestHeaderModifier: EDIT,
    responseHeaderModifier: EDIT,
    requestRedirect: { scheme: "text", hostname: "text", port: "number", statusCode: "number", path: PATH },
    urlRewrite: { hostname: "text", path: PATH },
    requestMirror: { backendRef: REF, percent: "number", fraction: { numerator: "number!", denominator: "number" } },
    cors: {
      allowOrigins: ["text"],
      allowMethods: ["text"],
      allowHeaders: ["text"],
      exposeHeaders: ["text"],
      allowCredentials: "flag",
      maxAge: "number",
    },
  },
];
const TESTS: Shape = [{ type: "text", name: "text!", value: "text!" }];
const BACKENDS: Shape = [{ ...REF, weight: "number", filters: FILTERS }];
const PARENTS: Shape = { parents: [{ controllerName: "text" }] };
const ANCESTORS: Shape = { ancestors: [{ controllerName: "text" }] };
const ADDRESSES: Shape = [{ type: "text", value: "text" }];

/** @param method that of its matches */
function route(method: Shape): Shape {
  return {
    status: PARENTS,
    spec: {
      parentRefs: [REF],
      hostnames: ["text"],
      rules: [
        {
          name: "text",
          matches: [{ path: { type: "text", value: "text" }, method, headers: TESTS, queryParams: TESTS }],
          filters: FILTERS,
          backendRefs: BACKENDS,
          timeouts: { request: "text", backendRequest: "text" },
          retry: { codes: ["number"], attempts: "number", backoff: "text" },
        },
      ],
    },
  };
}

const VALIDATION: Shape = { caCertificateRefs: [REF], mode: "text" };
const INGRESS_BACKEND: Shape = {
  service: { name: "text", port: { name: "text", number: "number" } },
  resource: { kind: "text", name: "text" },
};
const POLICY_TARGET: Shape = { group: "text", kind: "text", name: "text", sectionName: "text" };

/** THE shapes of what translations read of each kind, beside metadata. The definitions of an API server refuse others; an older or foreign one may not. */
const SHAPES: Readonly<Record<string, Shape>> = {
  Namespace: {},
  Service: {
    spec: {
      type: "text",
      clusterIP: "text",
      externalName: "text",
      ports: [{ name: "text", port: "number!", protocol: "text", appProtocol: "text" }],
    },
    status: { loadBalancer: { ingress: [{ ip: "text", hostname: "text" }] } },
  },
  Secret: { type: "text", data: "texts" },
  ConfigMap: { data: "texts" },
  EndpointSlice: {
    addressType: "text",
    endpoints: [{ addresses: ["text"], conditions: { ready: "flag", serving: "flag", terminating: "flag" } }],
    ports: [{ name: "text", port: "number", protocol: "text" }],
  },
  IngressClass: { spec: { controller: "text" } },
  Ingress: {
    spec: {
      ingressClassName: "text",
      defaultBackend: INGRESS_BACKEND,
      tls: [{ hosts: ["text"], secretName: "text" }],
      rules: [{ host: "text", http: { paths: [{ path: "text", pathType: "text", backend: INGRESS_BACKEND }] } }],
    },
  },
  GatewayClass: { spec: { controllerName: "text" } },
  Gateway: {
    status: { addresses: ADDRESSES },
    spec: {
      gatewayClassName: "text",
      listeners: LISTENERS,
      addresses: ADDRESSES,
      allowedListeners: { namespaces: FROM },
      infrastructure: { parametersRef: REF },
      tls: {
        frontend: {
          default: { validation: VALIDATION },
          perPort: [{ port: "number!", tls: { validation: VALIDATION } }],
        },
        backend: { clientCertificateRef: REF },
      },
    },
  },
  ListenerSet: { spec: { parentRef: REF, listeners: LISTENERS } },
  HTTPRoute: route("text"),
  GRPCRoute: route({ type: "text", service: "text", method: "text" }),
  TLSRoute: route("any"),
  TCPRoute: route("any"),
  UDPRoute: route("any"),
  ReferenceGrant: {
    spec: {
      from: [{ group: "text", kind: "text", namespace: "text" }],
      to: [{ group: "text", kind: "text", name: "text" }],
    },
  },
  BackendTLSPolicy: {
    status: ANCESTORS,
    spec: {
      targetRefs: [REF],
      validation: {
        hostname: "text",
        caCertificateRefs: [REF],
        wellKnownCACertificates: "text",
        subjectAltNames: [{ type: "text!", hostname: "text", uri: "text" }],
      },
    },
  },
  EdgePolicy: { status: ANCESTORS, spec: { targetRef: POLICY_TARGET, targetRefs: [POLICY_TARGET] } },
};

/** A place of a value that is not as its shape says. */
class ShapeFault extends Error {}

/**
 * An object with the shape that translations count on: members that are null are not there.
 * @returns the place at which it has another shape, such as `spec.listeners[0].port`
 */
export function shaped<T extends object>(kind: string, object: T): T | string {
  try {
    const whole = { metadata: META, ...((SHAPES[kind] ?? {}) as ShapeMembers) };
    return read(object, whole, "") as T;
  } catch (fault) {
    if (fault instanceof ShapeFault) return fault.message;
    throw fault;
  }
}

function read(value: unknown, shape: Shape, place: string): unknown {
  if (typeof shape === "string") return scalar(value, shape, place);
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) throw new ShapeFault(place);
    return value.map((one, i) => {
      if (one === null) throw new ShapeFault(`${place}[${i}]`);
      return read(one, shape[0], `${place}[${i}]`);
    });
  }
  if (typeof value !== "object" || Array.isArray(value)) throw new ShapeFault(place);
  const members = new Map(Object.entries(value).filter(([, one]) => one !== null));
  for (const [name, of] of Object.entries(shape)) {
    const one = read(members.get(name), of, place === "" ? name : `${place}.${name}`);
    if (one === undefined) members.delete(name);
    else members.set(name, one);
  }
  return Object.fromEntries(members);
}

function scalar(value: unknown, shape: string, place: string): unknown {
  if (value === undefined || value === null) {
    if (shape.endsWith("!")) throw new ShapeFault(place);
    return undefined;
  }
  if (shape === "any") return value;
  if (shape === "texts") {
    if (typeof value !== "object" || Array.isArray(value)) throw new ShapeFault(place);
    const entries = Object.entries(value).filter(([, one]) => one !== null);
    if (entries.some(([, one]) => typeof one !== "string")) throw new ShapeFault(place);
    return Object.fromEntries(entries);
  }
  if (typeof value !== TYPES[shape.replace("!", "")]) throw new ShapeFault(place);
  return value;
}

const TYPES: Readonly<Record<string, string>> = { text: "string", number: "number", flag: "boolean" };
