/** What names an object in a cluster. */
export interface ObjectMeta {
  readonly name: string;
  /** Absent for kinds of the whole cluster. */
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Whether this controller has written its status, and no other one has written that since. */
  readonly hasOwnStatus?: boolean;
}

/** An object as the API server has it. Its content is data of others: edge checks each member before it uses it. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

export interface ServicePort {
  readonly name?: string;
  readonly port: number;
  readonly protocol?: string;
  readonly appProtocol?: string;
  readonly targetPort?: number | string;
}

export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly ports?: readonly ServicePort[];
    readonly externalName?: string;
  };
}

export interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly endpoints?: readonly {
    readonly addresses?: readonly string[];
    readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly port?: number; readonly protocol?: string }[];
}

export interface Secret extends KubeObject {
  readonly type?: string;
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface ObjectCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** An object by kind, namespace and name. */
export interface ObjectRef {
  readonly kind: string;
  /** "" for kinds of the whole cluster. */
  readonly namespace: string;
  readonly name: string;
}

/** A route or stream as routes.yaml has it. */
export type RouteInput = Readonly<Record<string, unknown>>;

/** All routes that come of one object; a fault in one of them leaves this object out, and no other. */
export interface ObjectRoutes {
  /** `HTTPRoute namespace/name`: the name in listings, logs and metrics. */
  readonly name: string;
  readonly object: ObjectRef;
  /** As the list in routes.yaml. */
  readonly routes: readonly RouteInput[];
  /** Of routes of one path, a higher rank goes first, across objects; 0 without it. */
  readonly rank?: number;
  /** As the list of streams in routes.yaml. */
  readonly streams?: readonly RouteInput[];
}

/** An entry of `server.listeners`. The certificates of `tls` are named by `certificates`. */
export interface ListenerInput {
  readonly name: string;
  /** `10.91.0.1:80`. */
  readonly address: string;
  /** Absent for cleartext. Other keys are those of `server.listeners[].tls`. */
  readonly tls?: Readonly<Record<string, unknown>> & {
    /** Which certificate serves which names; no names: all others. */
    readonly certificates: readonly CertificateUse[];
  };
}

export interface CertificateUse {
  /** Host names or wildcards of one label. */
  readonly names: readonly string[];
  /** A Secret of type kubernetes.io/tls, which has been judged by `certificateOf`. */
  readonly secret: ObjectRef;
  /** Keys of `tls.hosts` beside names and files. */
  readonly options?: Readonly<Record<string, unknown>>;
}

/** The new status of an object; it is written by the leader alone, and only if it differs. */
export interface StatusPatch {
  readonly object: ObjectRef;
  /** The whole of `status`; conditions without `lastTransitionTime`. Where others write the same list, the parts of others are in it. */
  readonly status: Readonly<Record<string, unknown>>;
}

/** An event on an object: written once, until its text changes. */
export interface ObjectEvent {
  readonly object: ObjectRef;
  readonly type: "Normal" | "Warning";
  /** CamelCase, such as AnnotationIgnored. */
  readonly reason: string;
  readonly message: string;
}

/** A translation's result for the objects of a cluster. It is a pure function of the store and the settings. */
export interface Translation {
  readonly routes: readonly ObjectRoutes[];
  readonly listeners: readonly ListenerInput[];
  readonly statuses: readonly StatusPatch[];
  readonly events: readonly ObjectEvent[];
  /**
   * Takes changes of objects up that this translation has not asked for by name, at the cost of the changes. Null if all objects are to be
   * translated again.
   */
  readonly renewed?: (changes: readonly ObjectChange[]) => RenewedRoutes | null;
}

/** The parts of a translation that are others after some changes; everything else is as before. */
export interface RenewedRoutes {
  /** New routes of objects, by the ones before. */
  readonly groups: ReadonlyMap<ObjectRoutes, ObjectRoutes>;
  readonly statuses: readonly StatusPatch[];
}

/** An object that is another one than it was. */
export interface ObjectChange extends ObjectRef {
  /** Null if it was not there. */
  readonly before: KubeObject | null;
  /** Null if it is gone. */
  readonly after: KubeObject | null;
  /** Whether it could not be read, before or now. */
  readonly isUnreadable: boolean;
}

export const NO_TRANSLATION: Translation = { routes: [], listeners: [], statuses: [], events: [] };

/** A translation's context beside the objects. */
export interface TranslationSettings {
  /** The name of the controller, of GatewayClass and IngressClass. */
  readonly controller: string;
  readonly ingressClass: string;
  /** Of the listeners of Ingresses. */
  readonly ingressPorts: { readonly http: number; readonly https: number };
  /** Addresses for the status of a resource without its own: of `service`, or of the machine. */
  readonly addresses: readonly string[];
  /** Addresses of which each Gateway gets one; none: all share those of the machine. */
  readonly pool: readonly string[];
  /** Whether the gateway can listen at an address. */
  isUsable(address: string): boolean;
  /** Whether it can listen at a port of it: no other program does, and nothing that config.yaml and routes.yaml open. */
  canListen(address: string, port: number): boolean;
  /** Whether objects of a namespace are watched; absent: of each. */
  isWatched?(namespace: string): boolean;
  /** So many addresses with ports may be opened for the objects of a cluster; absent: any number. */
  readonly maxListeners?: number;
  /** The path of a file with this text, which the owner alone can read. */
  fileOf(pem: string): string;
}

/** The name of an object, as lists, the log and metrics show it. */
export function nameOf({ metadata: { namespace = "", name } }: Pick<KubeObject, "metadata">): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

/** The same as a reference. */
export function refOf({ kind, metadata: { namespace = "", name } }: Pick<KubeObject, "kind" | "metadata">): ObjectRef {
  return { kind, namespace, name };
}

/** The text of a reference, by which maps know an object. */
export function refKey({ kind, namespace, name }: ObjectRef): string {
  return `${kind} ${namespace}/${name}`;
}
