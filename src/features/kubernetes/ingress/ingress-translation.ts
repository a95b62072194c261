import { hostAndPort } from "../../../core/ip-address.ts";
import { CHALLENGE_PREFIX } from "../../../proto/h1/request-rules.ts";
import { backendOf, certificateOf, keptCertificateOf } from "../backends.ts";
import { listenerName } from "../gateway/addresses.ts";
import { challengeHosts, isOlder, routeOwners, type TakesChallenges } from "../host-owners.ts";
import type { ObjectStore } from "../object-store.ts";
import {
  type CertificateUse,
  type KubeObject,
  type ListenerInput,
  nameOf,
  type ObjectEvent,
  type ObjectRef,
  type ObjectRoutes,
  type RouteInput,
  refOf,
  type Service,
  type StatusPatch,
  type Translation,
  type TranslationSettings,
} from "../objects.ts";
import { optionsOf } from "../policy/option-keys.ts";
import type { PolicyTable } from "../policy/policy-table.ts";
import { secretPairs } from "../secret-lists.ts";
import { ANNOTATION_PREFIX } from "./annotation-rows.ts";
import {
  type IngressBackend,
  type IngressObject,
  type IngressPath,
  isHost,
  ownIngresses,
  pathFault,
  pathsOf,
  patternOf,
} from "./ingress-shapes.ts";
import { type CanaryTerms, type IngressTerms, ingressTerms } from "./ingress-terms.ts";

type Keys = Readonly<Record<string, unknown>>;

/** Makes routes, listeners, statuses and events of Ingresses. docs/kubernetes-ingress.md */
export function translatedIngresses(
  store: ObjectStore,
  settings: TranslationSettings,
  policies: PolicyTable,
): Translation {
  const ours = ownIngresses(store, settings);
  const former = formerIngressStatuses(store, new Set(ours));
  if (ours.length === 0) return { routes: [], listeners: [], statuses: former, events: [] };
  const made = new IngressWork(store, settings, policies, ours).result();
  return { ...made, statuses: [...made.statuses, ...former] };
}

/** Ingresses that this controller has served, and whose class is none of its own any more, have none of its addresses. */
function formerIngressStatuses(store: ObjectStore, ours: ReadonlySet<IngressObject>): StatusPatch[] {
  if (!store.isListed("IngressClass", "")) return [];
  const left = store
    .list<IngressObject>("Ingress")
    .filter((one) => one.metadata.hasOwnStatus === true && !ours.has(one));
  return left.map((one) => ({ object: refOf(one), status: { loadBalancer: { ingress: null } } }));
}

/** More paths of one object hold the control thread, and all other objects wait. */
const MAX_PATHS = 1000;

/** An Ingress with what its annotations say. */
interface ReadIngress {
  readonly ingress: IngressObject;
  readonly terms: IngressTerms;
  readonly routes: RouteInput[];
}

/** A path that an Ingress has taken: a canary may have a part of it. */
interface TakenPath {
  readonly by: ReadIngress;
  /** The route that leads to the Service; null if none does. */
  readonly main: RouteInput | null;
  /** Whether another Ingress has a part of it. */
  canary: ReadIngress | null;
}

class IngressWork {
  private readonly store: ObjectStore;
  private readonly settings: TranslationSettings;
  private readonly policies: PolicyTable;
  private readonly all: readonly ReadIngress[];
  private readonly events: ObjectEvent[] = [];
  private readonly certificates: readonly CertificateUse[];
  /** Namespaces and their hosts with a certificate; "" for every host. */
  private readonly secured: Set<string> = new Set();
  private readonly taken: Map<string, TakenPath> = new Map();
  private readonly address: string;
  private readonly takesChallenges: TakesChallenges;
  /** The routes of Gateways that hosts belong to. */
  private readonly routes: ReadonlyMap<string, KubeObject>;
  private owners: Map<string, string> | null = null;
  /** Where an alias leads. */
  private aliases: Map<string, { readonly ingress: IngressObject; readonly host: string }> | null = null;

  constructor(
    store: ObjectStore,
    settings: TranslationSettings,
    policies: PolicyTable,
    ours: readonly IngressObject[],
  ) {
    this.store = store;
    this.settings = settings;
    this.policies = policies;
    this.takesChallenges = challengeHosts(store);
    // With addresses, Ingresses have one of their own.
    this.routes = settings.pool.length > 0 ? new Map() : routeOwners(store, settings.controller);
    this.all = ours.map((ingress) => ({ ingress, terms: ingressTerms(ingress, store), routes: [] }));
    this.address = settings.pool.findLast((one) => settings.isUsable(one)) ?? "0.0.0.0";
    this.certificates = this.readCertificates();
  }

  result(): Translation {
    for (const one of this.all) this.noteAnnotations(one);
    const [canaries, mains] = [this.all.filter(isCanary), this.all.filter((one) => !isCanary(one))];
    for (const one of mains) this.routesOf(one);
    for (const one of mains) this.furtherRoutes(one);
    for (const one of canaries) this.canaryOf(one);
    const routes = this.all.flatMap(({ ingress, routes: list }): ObjectRoutes[] =>
      list.length === 0 ? [] : [{ name: `Ingress ${nameOf(ingress)}`, object: refOf(ingress), routes: list }],
    );
    return { routes, listeners: this.listeners(), statuses: this.statuses(), events: this.events };
  }

  private note({ ingress }: ReadIngress, reason: string, message: string): void {
    this.events.push({ object: refOf(ingress), type: "Warning", reason, message });
  }

  private noteAnnotations(one: ReadIngress): void {
    const { ignored, refused, aliases } = one.terms;
    const hosts = hostsIn(one.ingress);
    for (const alias of isCanary(one) ? [] : new Set(aliases))
      if (!hosts.includes(alias.toLowerCase()) && !hosts.some((host) => this.leadsTo(alias.toLowerCase(), one, host)))
        this.note(one, "AnnotationIgnored", `${ANNOTATION_PREFIX}server-alias: ${alias} leads to another Ingress`);
    for (const { name, why } of ignored) this.note(one, "AnnotationIgnored", `${ANNOTATION_PREFIX}${name}: ${why}`);
    for (const { name, why } of refused)
      this.note(one, "AnnotationRefused", `${ANNOTATION_PREFIX}${name}: ${why}. Paths of this Ingress answer 503`);
  }

  private readCertificates(): CertificateUse[] {
    const uses: CertificateUse[] = [];
    const taken = new Set<string>();
    for (const one of this.all)
      for (const { hosts = [], secretName = "" } of one.ingress.spec?.tls ?? []) {
        const own = this.ownNames(one, hosts);
        // What ends TLS for these hosts is known, even if its certificate is not there yet.
        for (const host of hosts.length > 0 ? own : hostsIn(one.ingress)) this.secured.add(this.securedKey(one, host));
        const secret = secretName === "" ? null : this.servingSecret(one, secretName);
        // The older Ingress's certificate serves a name; of those without names, each of another Secret.
        const claims = hosts.length > 0 ? own : secret === null ? [] : [` ${secret.namespace}/${secret.name}`];
        const names = claims.filter((name) => !taken.has(name));
        if (secret === null || names.length === 0) continue;
        for (const name of names) taken.add(name);
        uses.push({ names: hosts.length > 0 ? names : [], secret });
      }
    return uses;
  }

  /** Of names for a certificate, those of rules of the Ingress, whose host is no other namespace's. */
  private ownNames(one: ReadIngress, hosts: readonly string[]): string[] {
    const names = hosts.map((host) => host.toLowerCase());
    return names.filter((name) => {
      const isThere = isHost(name) && hostsIn(one.ingress).includes(name);
      const owner = isThere ? this.ownerOf(name) : "";
      if (!isThere) this.note(one, "CertificateIgnored", `tls names ${name}, which is the host of no rule here`);
      else if (owner !== (one.ingress.metadata.namespace ?? ""))
        this.note(
          one,
          "CertificateIgnored",
          `${name} belongs to the namespace ${owner}: its certificate comes from there`,
        );
      else return this.foreignRoute(one, name) === null;
      return false;
    });
  }

  /** The namespace of the oldest Ingress that has a rule for a host. */
  private ownerOf(host: string): string {
    if (this.owners === null) {
      this.owners = new Map();
      for (const { ingress } of this.all)
        for (const name of hostsIn(ingress))
          if (!this.owners.has(name)) this.owners.set(name, ingress.metadata.namespace ?? "");
    }
    return this.owners.get(host) ?? "";
  }

  /** The Secret of a certificate, if it is one or was one. */
  private servingSecret(one: ReadIngress, name: string): ObjectRef | null {
    const { namespace = "" } = one.ingress.metadata;
    const serving = keptCertificateOf(this.store, namespace, name);
    if (certificateOf(this.store, namespace, name) === null) {
      const end = serving === null ? "" : ": the one of before serves";
      const isThere = this.store.get("Secret", namespace, name) !== null;
      const what = isThere ? "is no certificate with its key" : "is not there, as while cert-manager waits for it";
      this.note(one, "CertificateInvalid", `the Secret ${namespace}/${name} ${what}${end}`);
    }
    return serving === null ? null : { kind: "Secret", namespace, name };
  }

  private get hasTls(): boolean {
    return this.certificates.length > 0;
  }

  private get listenerNames(): { readonly http: string; readonly https: readonly string[] } {
    const { ingressPorts: ports } = this.settings;
    const https = this.hasTls ? [listenerName(this.address, ports.https, "tls")] : [];
    return { http: listenerName(this.address, ports.http, "http"), https };
  }

  private listeners(): ListenerInput[] {
    const { http, https } = this.listenerNames;
    const { certificates } = this;
    const { ingressPorts: ports } = this.settings;
    const at = (port: number) => hostAndPort(this.address, port) ?? `${this.address}:${port}`;
    const secure = https.map((name) => ({ name, address: at(ports.https), tls: { certificates } }));
    return [{ name: http, address: at(ports.http) }, ...secure];
  }

  private statuses(): StatusPatch[] {
    const shown = this.settings.pool.includes(this.address) ? [this.address] : this.settings.addresses;
    const ingress = shown.map((value) => (/^[\d.]+$|:/.test(value) ? { ip: value } : { hostname: value }));
    if (ingress.length === 0) return [];
    return this.all.map((one) => ({ object: refOf(one.ingress), status: { loadBalancer: { ingress } } }));
  }

  /** Whether Ingresses of its namespace end TLS for a host: those of another one redirect no client. */
  private isSecured(one: ReadIngress, host: string): boolean {
    const parent = host.replace(/^[^.]+/, "*");
    return (
      this.secured.has(this.securedKey(one, host)) || (host !== "" && this.secured.has(this.securedKey(one, parent)))
    );
  }

  private securedKey({ ingress }: ReadIngress, host: string): string {
    return `${ingress.metadata.namespace ?? ""} ${host}`;
  }

  private routesOf(one: ReadIngress): void {
    const { terms, ingress } = one;
    const paths = pathsOf(ingress, terms.isRegex);
    if (paths.length > MAX_PATHS)
      this.note(
        one,
        "TooManyPaths",
        `edge serves ${MAX_PATHS} paths of an Ingress, the longest ones: divide them among several`,
      );
    for (const path of paths.slice(0, MAX_PATHS)) {
      const route = this.foreignRoute(one, path.host);
      if (route !== null) {
        this.note(one, "PathConflict", `${path.host} belongs to the older ${route.kind} ${nameOf(route)}`);
        continue;
      }
      const key = claimOf(path);
      const owner = this.taken.get(key);
      if (owner !== undefined) {
        const shown = `${path.host === "" ? "every host" : path.host} ${path.path}`;
        if (owner.by !== one)
          this.note(one, "PathConflict", `${shown} belongs to the older Ingress ${nameOf(owner.by.ingress)}`);
        continue;
      }
      const fault = pathFault(path);
      if (fault !== "") {
        this.note(one, "PathInvalid", `${path.path}: ${fault}`);
        continue;
      }
      const main = this.mainRoute(one, path);
      this.taken.set(key, { by: one, main: "targets" in main ? main : null, canary: null });
      one.routes.push(...this.placed(main, path.host, one));
    }
  }

  /** An older route of another namespace that a host belongs to: listeners of Gateways say which namespaces may have it, and no Gateway allows an Ingress. */
  private foreignRoute({ ingress }: ReadIngress, host: string): KubeObject | null {
    const route = this.routes.get(host);
    if (route === undefined || route.metadata.namespace === ingress.metadata.namespace) return null;
    return isOlder(route, ingress) ? route : null;
  }

  /** A route with the listeners that serve it; before it, for cleartext, the redirect to HTTPS. */
  private placed(route: RouteInput, host: string, one: ReadIngress): RouteInput[] {
    const { http, https } = this.listenerNames;
    const { toHttps } = one.terms;
    const isRedirected =
      (toHttps === "always" || (toHttps === "tls" && this.isSecured(one, host))) &&
      !("acme_challenge" in route && isChallengePlace(route));
    if (!isRedirected) return [{ ...route, listeners: [http, ...https] }];
    const secure = https.length > 0 ? [{ ...route, listeners: https }] : [];
    // Without a host of the route, the client would choose the target.
    if (host === "") return secure;
    const { hosts, path, prefix, regex } = route;
    const where = Object.fromEntries(
      Object.entries({ hosts, path, prefix, regex }).filter(([, at]) => at !== undefined),
    );
    return [{ type: "redirect", ...where, to: "https://{host}{uri}", status: 308, listeners: [http] }, ...secure];
  }

  private mainRoute(one: ReadIngress, path: IngressPath): RouteInput {
    const { terms, ingress } = one;
    const { namespace = "", name } = ingress.metadata;
    const where = { ...this.hostsOf(one, path.host), ...placeOf(path) };
    const found = this.policies.keysAt([{ kind: "Ingress", namespace, name, section: "" }]);
    if (terms.refused.length > 0) return closed(where, "this route is not served: its guard is not carried");
    if (found.fault !== "") {
      this.note(one, "PolicyInvalid", found.fault);
      return closed(where, "this route is not served: its policy is not valid");
    }
    const keys: Keys = { ...withUsers(terms.keys, namespace, this.store), ...found.keys };
    if (terms.redirect !== null) return { type: "redirect", ...where, ...terms.redirect, ...optionsOf(keys) };
    const targets = this.targetsOf(one, path.backend, terms.scheme);
    if (targets.length === 0) return closed(where, "no endpoint is ready");
    const target = terms.rewriteTarget.replace(/\$(\d)/g, "{match.$1}");
    return {
      type: "upstream",
      ...where,
      strip_prefix: false,
      targets,
      ...keys,
      ...(this.takesChallenges(namespace, where.hosts ?? []) ? { acme_challenge: "upstream" } : {}),
      ...(target === "" ? {} : { rewrite: { path: target } }),
    };
  }

  /** A host, with the aliases that lead to it. */
  private hostsOf(one: ReadIngress, host: string): { readonly hosts?: readonly string[] } {
    if (host === "") return {};
    const lead = one.terms.aliases
      .map((alias) => alias.toLowerCase())
      .filter((alias) => this.leadsTo(alias, one, host));
    return { hosts: [host, ...new Set(lead)] };
  }

  /** Whether an alias leads to a host of an Ingress: it is no host of a rule, and the oldest Ingress that names it has this host first. */
  private leadsTo(alias: string, one: ReadIngress, host: string): boolean {
    if (this.aliases === null) {
      this.aliases = new Map();
      for (const { ingress, terms } of this.all.filter((each) => !isCanary(each)))
        for (const name of terms.aliases.map((each) => each.toLowerCase()))
          if (!this.aliases.has(name) && !this.hasHost(name))
            this.aliases.set(name, { ingress, host: hostsIn(ingress)[0] ?? "" });
    }
    const lead = this.aliases.get(alias);
    return lead?.ingress === one.ingress && lead.host === host;
  }

  private hasHost(host: string): boolean {
    this.ownerOf(host);
    return this.owners!.has(host) || this.routes.has(host);
  }

  /** The servers behind a Service. Notes why there are none. */
  private targetsOf(one: ReadIngress, backend: IngressBackend, scheme: IngressTerms["scheme"]): object[] {
    const { terms } = one;
    const namespace = one.ingress.metadata.namespace ?? "";
    if (backend.resource !== undefined) {
      this.note(one, "ResourceBackend", `a backend of the kind ${backend.resource.kind} is not served: name a Service`);
      return [];
    }
    const name = backend.service?.name ?? "";
    const port = backend.service?.port?.name ?? backend.service?.port?.number ?? 0;
    const found = this.endpointsOf(namespace, name, port, terms.usesServiceAddress);
    if (typeof found === "string")
      this.note(one, "BackendNotFound", `Service ${namespace}/${name}, port ${port}: ${found}`);
    else if (found.addresses.length > 0) return urlsOf(found.addresses, scheme || schemeFor(found.appProtocol));
    if (terms.spareService === "") return [];
    const spare = this.store.get<Service>("Service", namespace, terms.spareService);
    const first = spare?.spec?.ports?.[0]?.port ?? 0;
    const others = this.endpointsOf(namespace, terms.spareService, first, false);
    return typeof others === "string" ? [] : urlsOf(others.addresses, "http");
  }

  private endpointsOf(namespace: string, name: string, port: number | string, isByService: boolean) {
    const found = backendOf(this.store, namespace, name, port);
    if (found === "external name") return "an ExternalName leads anywhere, and is not followed";
    if (typeof found === "string") return found;
    if (!isByService) return found;
    const service = this.store.get<Service>("Service", namespace, name);
    const { clusterIP = "None", ports = [] } = service?.spec ?? {};
    const number = ports.find((each) => each.port === port || each.name === port)?.port ?? 0;
    const address = clusterIP === "None" || clusterIP === "" ? null : hostAndPort(clusterIP, number);
    return address === null ? found : { ...found, addresses: [address] };
  }

  /** Redirects that have no path of an Ingress of their own. */
  private furtherRoutes(one: ReadIngress): void {
    const { terms, ingress } = one;
    const hosts = [...new Set(hostsIn(ingress))];
    const claim = (path: IngressPath): boolean => {
      if (this.taken.has(claimOf(path))) return false;
      this.taken.set(claimOf(path), { by: one, main: null, canary: null });
      return true;
    };
    const root = { type: "Exact", path: "/", backend: {} } as const;
    for (const host of terms.appRoot === "" ? [] : hosts) {
      const where = { ...this.hostsOf(one, host), path: "/" };
      const route = { type: "redirect", ...where, to: terms.appRoot, status: 302 };
      if (claim({ ...root, host })) one.routes.push(...this.placed(route, host, one));
    }
    for (const host of terms.hasWwwRedirect ? hosts : []) {
      if (host === "" || host.startsWith("*.")) continue;
      const other = host.startsWith("www.") ? host.slice(4) : `www.${host}`;
      const scheme = this.isSecured(one, host) ? "https" : "http";
      const { http, https } = this.listenerNames;
      if (!this.hasHost(other) && claim({ ...root, type: "Prefix", host: other }))
        one.routes.push({
          ...{ type: "redirect", hosts: [other], prefix: "/", to: `${scheme}://${host}{uri}`, status: 308 },
          listeners: [http, ...https],
        });
    }
  }

  /** Puts the routes of a canary before that whose part it takes. */
  private canaryOf(one: ReadIngress): void {
    const { terms, ingress } = one;
    for (const path of pathsOf(ingress, terms.isRegex)) {
      const taken = this.taken.get(claimOf(path)) ?? this.taken.get(claimOf({ ...path, type: "Regex" }));
      if (terms.refused.length > 0) continue;
      if (taken === undefined || taken.main === null || isCanary(taken.by)) {
        this.note(one, "CanaryWithoutMain", `no other Ingress serves ${path.host} ${path.path}`);
        continue;
      }
      if (taken.by.ingress.metadata.namespace !== ingress.metadata.namespace) {
        this.note(one, "CanaryWithoutMain", `${path.host} ${path.path} belongs to another namespace`);
        continue;
      }
      if (taken.canary !== null) {
        this.note(
          one,
          "PathConflict",
          `${path.host} ${path.path} has the older canary ${nameOf(taken.canary.ingress)}`,
        );
        continue;
      }
      taken.canary = one;
      const targets = this.targetsOf(one, path.backend, terms.scheme || taken.by.terms.scheme);
      if (targets.length === 0) continue;
      const { routes } = taken.by;
      const at = routes.findIndex((route) => "targets" in route && route.targets === taken.main!.targets);
      if (at >= 0) routes.splice(at, 1, ...canaryRoutes(routes[at]!, targets, terms.canary!));
    }
  }
}

/** The hosts of its rules; "" for every host. */
function hostsIn({ spec }: IngressObject): readonly string[] {
  return (spec?.rules ?? []).map(({ host = "" }) => host.toLowerCase());
}

function isCanary({ terms }: ReadIngress): boolean {
  return terms.canary !== null;
}

function canaryRoutes(main: RouteInput, targets: readonly object[], canary: CanaryTerms): RouteInput[] {
  const other = { ...main, targets };
  const { header, headerValue, cookie, percent } = canary;
  const routes: RouteInput[] = [];
  if (header !== "" && headerValue !== "") routes.push({ ...other, match: { header: { [header]: headerValue } } });
  else if (header !== "") {
    routes.push({ ...main, match: { header: { [header]: "never" } } });
    routes.push({ ...other, match: { header: { [header]: "always" } } });
  }
  if (cookie !== "") {
    routes.push({ ...main, match: { cookie: { [cookie]: "never" } } });
    routes.push({ ...other, match: { cookie: { [cookie]: "always" } } });
  }
  if (percent >= 100) return [...routes, other];
  if (percent > 0) routes.push({ ...other, match: { share: `${Number(percent.toFixed(3))}%` } });
  return [...routes, main];
}

function claimOf({ host, type, path }: IngressPath): string {
  return `${host} ${type} ${path}`;
}

function placeOf(path: IngressPath): Keys {
  if (path.type === "Exact") return { path: path.path };
  return path.type === "Regex" ? { regex: patternOf(path) } : { prefix: path.path };
}

/** A proof for a certificate comes in clear text: while there is none, a redirect to HTTPS would lead nowhere. */
function isChallengePlace({ path, prefix }: RouteInput): boolean {
  return String(path ?? prefix ?? "").startsWith(CHALLENGE_PREFIX);
}

function closed(where: Keys, why: string): RouteInput {
  return { type: "respond", ...where, status: 503, body: `${why}\n` };
}

function schemeFor(appProtocol: string): string {
  if (appProtocol === "kubernetes.io/h2c") return "h2c";
  return appProtocol === "https" ? "https" : "http";
}

function urlsOf(addresses: readonly string[], scheme: string): object[] {
  return addresses.map((address) => ({ url: `${scheme}://${address}` }));
}

/** Keys with the users of a Secret in place of its name. */
function withUsers(keys: Keys, namespace: string, store: ObjectStore): Keys {
  const { basic } = (keys.auth ?? {}) as {
    readonly basic?: Keys & { readonly users_secret?: Readonly<Record<string, string>> };
  };
  if (basic?.users_secret === undefined) return keys;
  const { users_secret: secret, ...others } = basic;
  const users = secretPairs(store, namespace, secret.name ?? "", secret.key ?? "");
  return { ...keys, auth: { basic: { ...others, users: typeof users === "string" ? {} : users } } };
}
