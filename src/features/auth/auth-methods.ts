import type { OriginConfig } from "../../config/origin.ts";
import type { TextTable } from "../../memory/text-table.ts";
import type { Upstream } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { AnyMethod } from "./any-method.ts";
import { ApiKeyMethod } from "./api-key/api-key-method.ts";
import type { AuthMethod } from "./auth-phase.ts";
import { BasicMethod, type PasswordChecks } from "./basic-method.ts";
import { ForwardMethod, type ForwardPorts } from "./forward-method.ts";
import { FixedKeys, type KeySets, keySourceId } from "./jwt/key-ring.ts";
import { MtlsMethod } from "./mtls-method.ts";
import type { SignIn } from "./oidc/sign-in.ts";
import type { AuthConfig, MethodConfig, MethodKey } from "./settings.ts";

/** What the methods of a worker are made with. */
export interface AuthPorts {
  readonly checks: PasswordChecks;
  readonly calls: Omit<ForwardPorts, "upstream">;
  /** The connections to a server that is asked. */
  poolOf(origin: OriginConfig, tls: MethodConfig<"forward">["tls"]): Upstream;
  /** Where users sign in: it is loaded when it is first asked for. */
  readonly signIn: () => SignIn;
  /** The keys of token issuers that are fetched. */
  readonly keySets: KeySets;
  /** The keys of a file, as they are now. */
  keyFile(file: string): { readonly table: TextTable };
  /** Milliseconds since the epoch. */
  readonly clock: NowMs;
}

/** Beside what a method is told itself. */
interface MethodPorts extends AuthPorts {
  /** Whether `Authorization` goes on to the upstream. */
  readonly keepsAuthorization: boolean;
  /** Names the routes that the method is for. */
  readonly routes: string;
}

type Builders = { readonly [K in MethodKey]: (config: MethodConfig<K>, context: MethodPorts) => AuthMethod };

/** What judges, by the key of the method: a key of METHOD_ROWS without a row here does not compile. */
const BUILDERS: Builders = {
  basic: ({ realm, users }, { checks, keepsAuthorization }) =>
    new BasicMethod(realm, new Map(users.map(({ name, hash }) => [name, hash])), checks, keepsAuthorization),
  forward: (config, { calls, poolOf }) =>
    new ForwardMethod(config, { ...calls, upstream: poolOf(config.service, config.tls) }),
  mtls: (config) => new MtlsMethod(config),
  oidc: (config, { signIn, routes }) => signIn().method(config, routes),
  jwt: jwtMethod,
  api_key: ({ header, query, fields, ownKeys, keysFile }, { checks, keyFile, keepsAuthorization }) =>
    new ApiKeyMethod(
      { header, query, fields, ownKeys, keepsKey: keepsAuthorization },
      checks,
      keysFile === "" ? null : keyFile(keysFile),
    ),
};

/** What reads tokens is loaded where a configuration asks for them. */
function jwtMethod(config: MethodConfig<"jwt">, { keySets, clock, keepsAuthorization }: MethodPorts): AuthMethod {
  const { JwtMethod } = require("./jwt/jwt-method.ts") as typeof import("./jwt/jwt-method.ts");
  const { issuer: issuers, audience: audiences, jwksUrl, caFile, from: places, algorithms, ...others } = config;
  const keys = jwksUrl === "" ? new FixedKeys(config.keys) : keySets.ringOf(keySourceId(jwksUrl, caFile));
  return new JwtMethod(
    { ...others, issuers, audiences, places, algorithms, keepsToken: keepsAuthorization },
    { keys, clock },
  );
}

/** Makes what judges the requests of a route; null if all may come in. @param routes names the routes with this configuration */
export function authMethod(auth: AuthConfig, routes: string, site: AuthPorts): AuthMethod | null {
  const { methods, keepAuthorization } = auth;
  const context = { ...site, keepsAuthorization: keepAuthorization, routes };
  const made = methods.map(({ key, config }) => built(key, config, context));
  return made.length > 1 ? new AnyMethod(made) : (made[0] ?? null);
}

function built<K extends MethodKey>(key: K, config: MethodConfig<K>, context: MethodPorts): AuthMethod {
  return BUILDERS[key](config, context);
}
