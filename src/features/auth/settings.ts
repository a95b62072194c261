import { type Kind, list, type Spot } from "../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, OFF, type Rows, type Values } from "../../config/row.ts";
import { flag } from "../../config/scalars.ts";
import { type ApiKeyConfig, apiKey } from "./api-key/settings.ts";
import { basic } from "./basic-settings.ts";
import { forward } from "./forward-settings.ts";
import { type JwtConfig, jwt } from "./jwt/settings.ts";
import { mtls, type TlsTerms, warnOfMtls } from "./mtls-settings.ts";
import { CALLBACK_PATH } from "./oidc/callback-path.ts";
import { type OidcConfig, oidc } from "./oidc/settings.ts";

/** What must be known of a method before any request comes. */
interface MethodTraits<C> {
  /** Names of the fields that it sets on requests, in any case: no client's own goes on, on any route. */
  fieldsSet?(config: C): readonly string[];
  /** Names of the fields of requests that it goes by, in any case. */
  fieldsRead?(config: C): readonly string[];
  /**
   * Paths of its own under the hosts of its routes, such as where a sign-in ends: requests for them come to its `judge` whatever route
   * has the path, and find nothing if that lets them in.
   */
  ownPaths?(config: C): readonly string[];
}

/** The row of a method: its key in `auth` with what it is told there, and its traits. */
function method<T, C, X extends MethodTraits<C>>(type: Kind<T, C>, doc: string, traits: X) {
  return { type, absent: null, doc, ...traits } as const;
}

/** THE methods, by their key in `auth`; auth-methods.ts makes what judges of each. docs/authentication.md */
const METHOD_ROWS = {
  basic: method(basic, "a name and a password, which browsers ask the user for", {}),
  forward: method(forward, "your own server decides, as with auth_request of nginx and forwardAuth of Traefik", {
    fieldsSet: ({ responseHeaders }) => responseHeaders,
    fieldsRead: ({ requestHeaders }) => requestHeaders ?? [],
  }),
  mtls: method(mtls, "client certificates, which clients show to server.tls", {}),
  jwt: method(jwt, "signed tokens (JWT) of your identity provider", {
    fieldsSet: ({ fields }: JwtConfig) => fields.map(({ name }) => name),
    fieldsRead: ({ from }: JwtConfig) => from.flatMap((place) => (place.startsWith("header:") ? [place.slice(7)] : [])),
  }),
  api_key: {
    ...method(apiKey, "API keys of programs, in a field or in the query", {
      fieldsSet: ({ fields }: ApiKeyConfig) => fields,
      fieldsRead: ({ header }: ApiKeyConfig) => [header],
    }),
    field: "api_key",
  },
  oidc: method(oidc, "your users sign in at an OpenID provider", {
    fieldsSet: ({ fields }: OidcConfig) => fields.map(({ name }) => name),
    ownPaths: ({ logoutPath }: OidcConfig) => [CALLBACK_PATH, logoutPath],
  }),
} as const satisfies Rows;

/** The key of a method. */
export type MethodKey = keyof typeof METHOD_ROWS;

/** What the method with this key is told. */
export type MethodConfig<K extends MethodKey> =
  (typeof METHOD_ROWS)[K]["type"] extends Kind<infer _T, infer C, infer _U> ? C : never;

/** A method with what it is told. */
type AnyMethodConfig = {
  readonly [K in MethodKey]: { readonly key: K; readonly config: MethodConfig<K> };
}[MethodKey];

const METHOD_KEYS = Object.keys(METHOD_ROWS) as MethodKey[];

const choice = block(METHOD_ROWS, {
  check(values, { path, log }) {
    const named = METHOD_KEYS.filter((key) => values[key] !== null || log.isFaulty([...path, key]));
    if (named.length !== 1) log.fault(path, "expected one method, such as {basic: {users_file: ./users}}", true);
  },
});

const rows = {
  enabled: { type: flag(), default: true, doc: "false: every client gets in" },
  ...METHOD_ROWS,
  any: {
    type: list(choice, "methods"),
    example: [{ basic: { users_file: "./users" } }],
    doc: "methods of which the first that succeeds wins; list redirecting methods last",
  },
  keep_authorization: {
    type: flag(),
    default: false,
    doc: "true: your upstream gets Authorization even if edge used it",
  },
} as const satisfies Rows;

/** `auth`, of the server, a route or the internal API: who may come in. docs/authentication.md */
export const auth = block(rows, {
  absent: OFF,
  isSwitch: true,
  check: checkMethods,
  finish: (plain) => ({ methods: plain.enabled ? methodsOf(plain, plain.any) : [] }),
  list: ({ any }, lines) => (any.length > 0 ? lines : without(lines, "any")),
});

/** Resolved: of the server, or a route's own. */
export type AuthConfig = ConfigOf<typeof auth> & { readonly scope: "server" | "route" };

/** Warns of methods that can let in no request with these settings of TLS. @param spot of the section */
export function warnOfAuth(auth: Pick<AuthConfig, "mtls" | "any">, tls: TlsTerms, spot: Spot): void {
  if (auth.mtls !== null) warnOfMtls(tls, spot);
  for (const [i, { mtls: one }] of auth.any.entries()) {
    if (one !== null) warnOfMtls(tls, { ...spot, path: [...spot.path, "any", i] });
  }
}

/** Of a route that asks for nothing. */
export const NO_AUTH: AuthConfig = {
  ...(Object.fromEntries(Object.keys(METHOD_ROWS).map((key) => [key, null])) as { [K in MethodKey]: null }),
  enabled: false,
  any: [],
  methods: [],
  keepAuthorization: false,
  scope: "route",
};

/** Names of all fields that the methods of these set on requests, in lower case. */
export function fieldsSetBy(configs: Iterable<Pick<AuthConfig, "methods">>): readonly string[] {
  const names = [...configs].flatMap(({ methods }) => methods.flatMap(({ key, config }) => fieldsOf(key, config)));
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

/** Names of all fields of requests that the methods of these go by, in lower case. */
export function fieldsReadBy(configs: Iterable<Pick<AuthConfig, "methods">>): readonly string[] {
  const names = [...configs].flatMap(({ methods }) => methods.flatMap(({ key, config }) => fieldsReadIn(key, config)));
  return [...new Set(names.map((name) => name.toLowerCase()))];
}

/** The paths that the methods of these have of their own. */
export function ownPathsOf({ methods }: Pick<AuthConfig, "methods">): readonly string[] {
  return [...new Set(methods.flatMap(({ key, config }) => pathsOf(key, config)))];
}

function pathsOf<K extends MethodKey>(key: K, config: MethodConfig<K>): readonly string[] {
  return (METHOD_ROWS[key] as MethodTraits<MethodConfig<K>>).ownPaths?.(config) ?? [];
}

function fieldsOf<K extends MethodKey>(key: K, config: MethodConfig<K>): readonly string[] {
  return (METHOD_ROWS[key] as MethodTraits<MethodConfig<K>>).fieldsSet?.(config) ?? [];
}

function checkMethods(values: Values<typeof rows>, spot: Spot): void {
  if (!values.enabled) return;
  const { log, path } = spot;
  const named = METHOD_KEYS.filter((key) => values[key] !== null);
  const isFaulty = [...METHOD_KEYS, "any"].some((key) => isFaultyAt(spot, key));
  if (named.length === 0 && values.any.length === 0 && !isFaulty)
    log.fault(path, "needs a method, such as basic: {users_file: ./users}", true);
  if (named.length + (values.any.length > 0 ? 1 : 0) > 1)
    log.fault(path, "has several methods: put all of them in a list, any: [{basic: …}, {basic: …}]", true);
}

type Methods = { readonly [K in MethodKey]: MethodConfig<K> | null };

function methodsOf(own: Methods, any: readonly Methods[]): readonly AnyMethodConfig[] {
  return [own, ...any].flatMap((each) =>
    METHOD_KEYS.flatMap((key) => (each[key] === null ? [] : [{ key, config: each[key] } as AnyMethodConfig])),
  );
}

function without(lines: Readonly<Record<string, unknown>>, key: string): object {
  const { [key]: _, ...others } = lines;
  return others;
}

function fieldsReadIn<K extends MethodKey>(key: K, config: MethodConfig<K>): readonly string[] {
  return (METHOD_ROWS[key] as MethodTraits<MethodConfig<K>>).fieldsRead?.(config) ?? [];
}
