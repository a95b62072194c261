import type { ObjectStore } from "../object-store.ts";
import { type KubeObject, nameOf, type Service } from "../objects.ts";
import { ANNOTATION_PREFIX } from "./annotation-rows.ts";
import { type IngressObject, type IngressPath, isHost, pathFault, pathsOf } from "./ingress-shapes.ts";
import { type IngressTerms, ingressTerms } from "./ingress-terms.ts";
import { backendTls, mirrorFilter, policySpec, redirectFilter, rewriteFilter } from "./route-parts.ts";

type Keys = Readonly<Record<string, unknown>>;

/** A part of an Ingress without a counterpart in the result. */
interface LostPart {
  /** `namespace/name` of the Ingress. */
  readonly ingress: string;
  /** The annotation, or the part of the Ingress. */
  readonly what: string;
  readonly why: string;
}

/** The Gateway of all routes. */
interface ConversionOptions {
  readonly gateway: { readonly namespace: string; readonly name: string };
  readonly gatewayClass: string;
}

/** Objects of the Gateway API that say what Ingresses say. */
export interface Conversion {
  readonly objects: readonly object[];
  readonly lost: readonly LostPart[];
  readonly ingresses: number;
}

const GROUP = "gateway.networking.k8s.io";
const HTTP = "http";
/** As the API allows. */
const MAX_LISTENERS = 64;
const MAX_NAME = 63;

/** Makes a Gateway, HTTPRoutes and policies of the Ingresses of a store. docs/kubernetes-ingress.md#from-ingress-to-the-gateway-api */
export function convertedIngresses(store: ObjectStore, options: ConversionOptions): Conversion {
  return new ConversionWork(store, options).result();
}

interface ReadIngress {
  readonly ingress: IngressObject;
  readonly terms: IngressTerms;
}

interface Rule {
  readonly matches?: object[];
  readonly filters?: object[];
  backendRefs?: Keys[];
}

/** A rule, with the path that it has. */
interface PlacedRule {
  readonly path: IngressPath;
  readonly rule: Rule;
}

class ConversionWork {
  private readonly store: ObjectStore;
  private readonly options: ConversionOptions;
  private readonly lost: LostPart[] = [];
  private readonly objects: object[] = [];
  private readonly names: Set<string> = new Set();
  /** Listeners of the Gateway for TLS, by host and Secret. */
  private readonly listeners: Map<string, Keys & { readonly name: string; readonly hostname: string }> = new Map();
  private readonly granted: Map<string, Set<string>> = new Map();
  private readonly issuers: Map<string, string> = new Map();
  /** Rules by host and path: a canary takes a part of one. */
  private readonly rules: Map<string, Rule[]> = new Map();
  private readonly tlsPolicies: Set<string> = new Set();

  constructor(store: ObjectStore, options: ConversionOptions) {
    this.store = store;
    this.options = options;
  }

  result(): Conversion {
    const all = this.store.list<IngressObject>("Ingress").map((ingress): ReadIngress => {
      return { ingress, terms: ingressTerms(ingress, this.store, false) };
    });
    for (const one of all) this.readTls(one);
    for (const one of all) this.noteLost(one);
    for (const one of all) if (one.terms.canary === null) this.convert(one);
    for (const one of all) if (one.terms.canary !== null) this.convertCanary(one);
    const objects = all.length === 0 ? [] : [this.gateway(), ...this.grants(), ...this.objects];
    return { objects, lost: this.lost, ingresses: all.length };
  }

  private lose({ ingress }: ReadIngress, what: string, why: string): void {
    const entry = { ingress: nameOf(ingress), what, why };
    const isKnown = this.lost.some((one) => one.ingress === entry.ingress && one.what === what && one.why === why);
    if (!isKnown) this.lost.push(entry);
  }

  private noteLost(one: ReadIngress): void {
    const { ignored, refused, usesServiceAddress, spareService } = one.terms;
    for (const { name, why } of ignored) this.lose(one, ANNOTATION_PREFIX + name, why);
    for (const { name, why } of refused)
      this.lose(
        one,
        ANNOTATION_PREFIX + name,
        `${why}. It says who may come in: the routes are written without a backend`,
      );
    if (usesServiceAddress) this.lose(one, `${ANNOTATION_PREFIX}service-upstream`, "requests go to endpoints");
    if (spareService !== "") this.lose(one, `${ANNOTATION_PREFIX}default-backend`, "a rule has no spare backend");
    for (const [name, value] of Object.entries(one.ingress.metadata.annotations ?? {})) {
      if (name.startsWith("cert-manager.io/") || name.startsWith("acme.cert-manager.io/")) {
        if ((this.issuers.get(name) ?? value) === value) this.issuers.set(name, value);
        else this.lose(one, name, `the Gateway has ${this.issuers.get(name)} of another Ingress`);
      } else if (
        /^(nginx\.org|haproxy\.org|traefik\.ingress\.kubernetes\.io|alb\.ingress\.kubernetes\.io)\//.test(name)
      )
        this.lose(one, name, "the annotation of another controller");
    }
  }

  private readTls(one: ReadIngress): void {
    const { spec, metadata } = one.ingress;
    const namespace = metadata.namespace ?? "";
    for (const { hosts = [], secretName = "" } of spec?.tls ?? []) {
      if (secretName === "") {
        this.lose(one, "tls", "names no Secret: name a certificate at the listener");
        continue;
      }
      for (const host of hosts.length > 0 ? hosts : [""])
        this.addListener(one, host.toLowerCase(), namespace, secretName);
    }
  }

  private addListener(one: ReadIngress, hostname: string, namespace: string, name: string): void {
    const before = [...this.listeners.values()].find((each) => each.hostname === hostname);
    const key = `${hostname} ${namespace}/${name}`;
    if (this.listeners.has(key)) return;
    if (before !== undefined)
      return this.lose(one, `tls ${hostname}`, `another Ingress has a certificate for this host`);
    if (this.listeners.size + 1 >= MAX_LISTENERS)
      return this.lose(one, `tls ${hostname}`, `a Gateway has ${MAX_LISTENERS} listeners: write a ListenerSet`);
    const isOwn = namespace === this.options.gateway.namespace;
    if (!isOwn) this.granted.set(namespace, (this.granted.get(namespace) ?? new Set()).add(name));
    this.listeners.set(key, {
      name: `https-${this.listeners.size + 1}`,
      port: 443,
      protocol: "HTTPS",
      hostname,
      tls: { mode: "Terminate", certificateRefs: [{ name, ...(isOwn ? {} : { namespace }) }] },
      allowedRoutes: { namespaces: { from: "All" } },
    });
  }

  private gateway(): object {
    const { gateway, gatewayClass } = this.options;
    const secure = [...this.listeners.values()].map(({ hostname, ...listener }) => ({
      ...listener,
      ...(hostname === "" ? {} : { hostname }),
    }));
    const annotations = Object.fromEntries(this.issuers);
    const plain = { name: HTTP, port: 80, protocol: "HTTP", allowedRoutes: { namespaces: { from: "All" } } };
    return {
      apiVersion: `${GROUP}/v1`,
      kind: "Gateway",
      metadata: { ...gateway, ...(this.issuers.size === 0 ? {} : { annotations }) },
      spec: { gatewayClassName: gatewayClass, listeners: [plain, ...secure] },
    };
  }

  /** The Gateway may take the Secrets of other namespaces. */
  private grants(): object[] {
    const { namespace, name } = this.options.gateway;
    return [...this.granted].map(([of, secrets]) => ({
      apiVersion: `${GROUP}/v1`,
      kind: "ReferenceGrant",
      metadata: { namespace: of, name: `${name}-certificates` },
      spec: {
        from: [{ group: GROUP, kind: "Gateway", namespace }],
        to: [...secrets].map((secret) => ({ group: "", kind: "Secret", name: secret })),
      },
    }));
  }

  private convert(one: ReadIngress): void {
    const { terms, ingress } = one;
    const byHost = Map.groupBy(pathsOf(ingress, terms.isRegex), ({ host }) => host);
    const routes: string[] = [];
    for (const [host, paths] of byHost) {
      const rules = paths.flatMap((path) => this.ruleOf(one, path) ?? []);
      if (terms.appRoot !== "" && host !== "") rules.unshift(appRootRule(host, terms.appRoot));
      if (rules.length === 0) continue;
      for (const { path, rule } of rules) this.rules.set(claimOf(path), [rule]);
      const hostnames = host === "" ? [] : [host, ...terms.aliases.filter((alias) => alias !== host)];
      const secure = this.listenersFor(host);
      const isRedirected = terms.toHttps === "always" || (terms.toHttps === "tls" && secure.length > 0);
      const sections = isRedirected ? secure : [HTTP, ...secure];
      if (isRedirected) {
        const filters = [{ type: "RequestRedirect", requestRedirect: { scheme: "https", statusCode: 308 } }];
        this.route(ingress, "to-https", { hostnames, sections: [HTTP], rules: [{ filters }] });
      }
      if (sections.length > 0)
        routes.push(this.route(ingress, "", { hostnames, sections, rules: rules.map(({ rule }) => rule) }));
      else this.lose(one, "force-ssl-redirect", "no listener has a certificate for this host: name one");
      if (terms.hasWwwRedirect && host !== "" && !host.startsWith("*.")) this.wwwRoute(ingress, host);
    }
    if (terms.refused.length === 0) this.policy(one, routes);
  }

  private wwwRoute(ingress: IngressObject, host: string): void {
    const other = host.startsWith("www.") ? host.slice(4) : `www.${host}`;
    const filters = [{ type: "RequestRedirect", requestRedirect: { hostname: host, statusCode: 308 } }];
    const sections = [HTTP, ...this.listenersFor(other)];
    this.route(ingress, "www", { hostnames: [other], sections, rules: [{ filters }] });
  }

  private listenersFor(host: string): string[] {
    const parent = host.replace(/^[^.]+/, "*");
    const all = [...this.listeners.values()];
    const exact = all.filter(({ hostname }) => hostname === host);
    const found = exact.length > 0 ? exact : all.filter(({ hostname }) => hostname === "" || hostname === parent);
    return found.map(({ name }) => name);
  }

  /** @returns the name of the route */
  private route(
    { metadata }: IngressObject,
    suffix: string,
    {
      hostnames,
      sections,
      rules,
    }: { readonly hostnames: readonly string[]; readonly sections: readonly string[]; readonly rules: readonly Rule[] },
  ): string {
    const { gateway } = this.options;
    const { namespace = "" } = metadata;
    const name = this.freeName(namespace, suffix === "" ? metadata.name : `${metadata.name}-${suffix}`);
    const parentRefs = sections.map((sectionName) => ({ ...gateway, sectionName }));
    this.objects.push({
      apiVersion: `${GROUP}/v1`,
      kind: "HTTPRoute",
      metadata: { namespace, name },
      spec: { parentRefs, ...(hostnames.length === 0 ? {} : { hostnames }), rules },
    });
    return name;
  }

  private freeName(namespace: string, wished: string): string {
    const base = wished.slice(0, MAX_NAME - 4);
    for (let i = 1; ; i++) {
      const name = i === 1 ? base : `${base}-${i}`;
      if (this.names.has(`${namespace}/${name}`)) continue;
      this.names.add(`${namespace}/${name}`);
      return name;
    }
  }

  /** Null for a path that cannot be carried, which is noted. */
  private ruleOf(one: ReadIngress, path: IngressPath): PlacedRule | null {
    const { terms } = one;
    const fault = pathFault(path);
    if (fault !== "") {
      const isHostFault = path.host !== "" && !isHost(path.host);
      this.lose(one, isHostFault ? `host ${path.host}` : `path ${path.path}`, fault);
      return null;
    }
    const rewrite = rewriteFilter(path, terms.rewriteTarget);
    if (typeof rewrite === "string") {
      this.lose(one, `path ${path.path}`, rewrite);
      return null;
    }
    const matches = [{ path: rewrite.match }];
    // Without a backend it answers 500, and no wider route takes its path.
    if (terms.refused.length > 0) return { path, rule: { matches } };
    if (terms.redirect !== null) {
      const filter = redirectFilter(terms.redirect);
      if (typeof filter !== "string") return { path, rule: { matches, filters: [filter] } };
      this.lose(one, `path ${path.path}`, filter);
      return null;
    }
    const backend = this.backendOf(one, path);
    if (backend === null) return null;
    this.protocolOf(one, String(backend.name));
    const mirror = this.mirrorOf(one);
    const filters = [...rewrite.filters, ...(mirror === null ? [] : [mirror])];
    return { path, rule: { matches, ...(filters.length === 0 ? {} : { filters }), backendRefs: [backend] } };
  }

  private mirrorOf(one: ReadIngress): object | null {
    const { mirror } = one.terms.keys as { readonly mirror?: { readonly target: string } };
    if (mirror === undefined) return null;
    const filter = mirrorFilter(mirror.target, one.ingress.metadata.namespace ?? "");
    if (filter === null) this.lose(one, `${ANNOTATION_PREFIX}mirror-target`, "a mirror is a Service of its namespace");
    return filter;
  }

  private backendOf(one: ReadIngress, { path, backend }: IngressPath): Keys | null {
    const { service, resource } = backend;
    const namespace = one.ingress.metadata.namespace ?? "";
    if (service?.name === undefined) {
      this.lose(one, `path ${path}`, `its backend is no Service${resource === undefined ? "" : ` (${resource.kind})`}`);
      return null;
    }
    const { number, name } = service.port ?? {};
    const ports = this.store.get<Service>("Service", namespace, service.name)?.spec?.ports ?? [];
    const port = number ?? ports.find((each) => each.name === name)?.port;
    if (port !== undefined) return { name: service.name, port };
    this.lose(
      one,
      `path ${path}`,
      `the port ${name} of the Service ${service.name} has no number here: give its file as well`,
    );
    return null;
  }

  /** Other objects say TLS and HTTP/2 to a Service. */
  private protocolOf(one: ReadIngress, service: string): void {
    const { scheme, keys } = one.terms;
    const namespace = one.ingress.metadata.namespace ?? "";
    if (scheme === "h2c" || scheme === "h2")
      this.lose(
        one,
        `${ANNOTATION_PREFIX}backend-protocol`,
        `set appProtocol: kubernetes.io/h2c at the port of the Service ${service}`,
      );
    if (scheme !== "https" && scheme !== "h2") return;
    const { insecure_skip_verify: isUnchecked, server_name: name } = (keys.tls ?? {}) as Keys;
    if (isUnchecked === true)
      this.lose(
        one,
        `${ANNOTATION_PREFIX}backend-protocol`,
        `ingress-nginx does not check the certificate of ${service}, a BackendTLSPolicy does: name its CA there`,
      );
    if (this.tlsPolicies.has(`${namespace}/${service}`)) return;
    this.tlsPolicies.add(`${namespace}/${service}`);
    this.objects.push(backendTls(namespace, service, typeof name === "string" ? name : ""));
  }

  private policy(one: ReadIngress, routes: readonly string[]): void {
    const { namespace = "", name } = one.ingress.metadata;
    const spec = policySpec(one.terms.keys);
    if (spec === null || routes.length === 0) return;
    for (let at = 0; at < routes.length; at += MAX_TARGETS) {
      const targetRefs = routes
        .slice(at, at + MAX_TARGETS)
        .map((route) => ({ group: GROUP, kind: "HTTPRoute", name: route }));
      this.objects.push({
        apiVersion: "edge.dev/v1alpha1",
        kind: "EdgePolicy",
        metadata: { namespace, name: at === 0 ? name : `${name}-${at / MAX_TARGETS + 1}` },
        spec: { targetRefs, ...spec },
      });
    }
  }

  /** A canary is a share, or a header, of the rule of the other Ingress. */
  private convertCanary(one: ReadIngress): void {
    const { terms, ingress } = one;
    const { header, headerValue, cookie, percent } = terms.canary!;
    if (cookie !== "")
      this.lose(one, `${ANNOTATION_PREFIX}canary-by-cookie`, "no match of an HTTPRoute looks at cookies");
    for (const path of pathsOf(ingress, terms.isRegex)) {
      const [main] = this.rules.get(claimOf(path)) ?? this.rules.get(claimOf({ ...path, type: "Regex" })) ?? [];
      const backend = this.backendOf(one, path);
      if (backend === null) continue;
      if (main?.backendRefs === undefined) {
        this.lose(one, `path ${path.path}`, "no other Ingress serves it, of which this is the canary");
        continue;
      }
      const before = main.backendRefs;
      const asked = (value: string): Rule => ({
        ...main,
        matches: (main.matches ?? [{}]).map((match) => ({ ...match, headers: [headerMatch(header, value)] })),
      });
      const further: Rule[] = [];
      if (header !== "") further.push({ ...asked(headerValue || "always"), backendRefs: [backend] });
      if (header !== "" && headerValue === "") further.push({ ...asked("never"), backendRefs: before });
      if (percent > 0)
        main.backendRefs = [
          { ...before[0], weight: Math.round((100 - percent) * 100) },
          { ...backend, weight: Math.round(percent * 100) },
        ];
      this.addRules(main, further);
    }
  }

  private addRules(main: Rule, further: readonly Rule[]): void {
    for (const object of this.objects as { spec?: { rules?: Rule[] } }[]) {
      const at = object.spec?.rules?.indexOf(main) ?? -1;
      if (at >= 0) object.spec!.rules!.splice(at, 0, ...further);
    }
  }
}

const MAX_TARGETS = 16;

function claimOf({ host, type, path }: IngressPath): string {
  return `${host} ${type} ${path}`;
}

function headerMatch(name: string, value: string): object {
  const isPattern = value.length > 2 && value.startsWith("/") && value.endsWith("/");
  return isPattern ? { type: "RegularExpression", name, value: value.slice(1, -1) } : { type: "Exact", name, value };
}

function appRootRule(host: string, to: string): PlacedRule {
  const requestRedirect = { path: { type: "ReplaceFullPath", replaceFullPath: to }, statusCode: 302 };
  const rule = {
    matches: [{ path: { type: "Exact", value: "/" } }],
    filters: [{ type: "RequestRedirect", requestRedirect }],
  };
  return { path: { host, type: "Exact", path: "/", backend: {} }, rule };
}

/** Ingresses, Services, Secrets and ConfigMaps of a text; other kinds are passed over. */
export function isForConversion({ kind }: Pick<KubeObject, "kind">): boolean {
  return ["Ingress", "Service", "Secret", "ConfigMap"].includes(kind);
}
