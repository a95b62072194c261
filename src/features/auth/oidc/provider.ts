import type {
  ClientAuth,
  Configuration,
  CustomFetchOptions,
  TokenEndpointResponse,
  TokenEndpointResponseHelpers,
} from "openid-client";
import { isThisMachine } from "../../../core/ip-address.ts";
import { outboundRequest } from "../../../net/outbound-request.ts";
import type { LoginAttempt } from "./login-attempt.ts";

/** How long an identity provider may take for one answer, and how many bytes that may have. */
const PROVIDER_TIMEOUT_MS = 5000;
const MAX_PROVIDER_BYTES = 524_288;
/** For how long a provider that has failed is not asked for its settings. */
const PROVIDER_PAUSE_MS = 2000;
/** How old a provider's settings may be before they are asked for again, beside the sign-ins that go on with the old ones. */
const PROVIDER_SETTINGS_MS = 3_600_000;

type Library = typeof import("openid-client");
type Claims = Readonly<Record<string, unknown>>;
type Tokens = TokenEndpointResponse & TokenEndpointResponseHelpers;

/** Which provider, and as which client of it. */
export interface ProviderSettings {
  /** An https URL, or http on loopback. */
  readonly issuer: string;
  readonly clientId: string;
  /** "" for a client without. */
  readonly clientSecret: string;
  readonly scopes: readonly string[];
  /** PEM of the authorities that the provider's certificate is from; "" for the system's. */
  readonly authorities: string;
  /** Claims that the configuration names: where the ID token lacks one, the provider is asked for it. */
  readonly wantedClaims: readonly string[];
}

/** What a provider has said of a user. */
export interface ProviderWord {
  readonly claims: Claims;
  /** "" if there is none, or none anew. */
  readonly idToken: string;
  readonly refreshToken: string;
  /** Seconds for which the access token is good; 0 if that is not said. */
  readonly expiresInS: number;
}

/** Why a provider could not be asked, or what was wrong with its response. */
type ProviderProblem =
  /** It does not answer, or not in time, or that it cannot. */
  | "away"
  /** It says no: the user has not agreed, the code or the refresh token is not good. */
  | "refused"
  /** Its response cannot be trusted: a signature, an issuer, a nonce. */
  | "untrusted";

/** A failed call of a provider. `message` is for the log: without a token or a secret. */
export class ProviderError extends Error {
  readonly problem: ProviderProblem;

  constructor(problem: ProviderProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** What a provider is asked for. */
export type ProviderCalls = Pick<Provider, "loginUrl" | "signIn" | "renew" | "logoutUrl" | "revoke">;

/**
 * One OpenID provider as a worker knows it: its settings are asked for when they are first needed, kept, and asked for again in the
 * background. What it sends is bounded in size and time, and its ID tokens' signatures are always verified. The library is loaded with
 * the first call. docs/authentication.md#openid-connect
 */
export class Provider {
  private readonly settings: ProviderSettings;
  private readonly now: () => number;
  private known: { readonly client: Configuration; readonly atMs: number } | null = null;
  private asking: Promise<Configuration> | null = null;
  private failure: { readonly error: ProviderError; readonly atMs: number } | null = null;

  /** @param now milliseconds since the epoch */
  constructor(settings: ProviderSettings, now: () => number) {
    this.settings = settings;
    this.now = now;
  }

  /** Where the browser signs in. @throws ProviderError */
  async loginUrl(attempt: LoginAttempt, redirectUri: string): Promise<string> {
    const library = await openid();
    const client = await this.client();
    return guarded(async () => {
      const url = library.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: this.settings.scopes.join(" "),
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: "S256",
      });
      this.checkAddress(url);
      return url.href;
    });
  }

  /**
   * Turns the code that the browser has brought into what the provider says of its user.
   * @param callback the whole URL of the request that brought it @throws ProviderError
   */
  async signIn(attempt: LoginAttempt, callback: URL): Promise<ProviderWord> {
    const library = await openid();
    const client = await this.client();
    return guarded(async () => {
      const tokens = await library.authorizationCodeGrant(client, callback, {
        pkceCodeVerifier: attempt.verifier,
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        idTokenExpected: true,
      });
      return wordOf(tokens, await this.claimsOf(tokens, { ...tokens.claims() }));
    });
  }

  /**
   * Asks whether a user is still one.
   * @param claims what is known of the user; it holds on where the provider says nothing anew
   * @throws ProviderError
   */
  async renew(refreshToken: string, claims: Claims): Promise<ProviderWord> {
    const library = await openid();
    const client = await this.client();
    return guarded(async () => {
      const tokens = await library.refreshTokenGrant(client, refreshToken);
      const said = tokens.claims();
      // OpenID Connect Core 1.0, section 12.2
      if (said !== undefined && said.sub !== claims.sub)
        throw new ProviderError("untrusted", "an ID token of another user");
      if (said !== undefined) return wordOf(tokens, await this.claimsOf(tokens, { ...said }));
      return wordOf(tokens, (await this.userInfo(tokens.access_token, String(claims.sub))) ?? claims);
    });
  }

  /**
   * Where the browser signs out at the provider; "" if there is no such place, or the provider is not known and away.
   * @param idToken "" if it is not known
   */
  async logoutUrl(idToken: string, returnUri: string): Promise<string> {
    try {
      const library = await openid();
      const client = await this.client();
      if (client.serverMetadata().end_session_endpoint === undefined) return "";
      const url = library.buildEndSessionUrl(client, {
        post_logout_redirect_uri: returnUri,
        ...(idToken === "" ? null : { id_token_hint: idToken }),
      } as Record<string, string>);
      this.checkAddress(url);
      return url.href;
    } catch {
      return "";
    }
  }

  /** Makes a refresh token useless, where the provider can do that. RFC 7009. @throws ProviderError */
  async revoke(refreshToken: string): Promise<void> {
    const library = await openid();
    const client = await this.client();
    if (client.serverMetadata().revocation_endpoint === undefined) return;
    await guarded(() => library.tokenRevocation(client, refreshToken, { token_type_hint: "refresh_token" }));
  }

  /** What an ID token says, and where it lacks a claim that is wanted, what else the provider says. */
  private async claimsOf(tokens: Tokens, said: Claims): Promise<Claims> {
    const isMissing = this.settings.wantedClaims.some((name) => said[name] === undefined);
    return isMissing ? { ...(await this.userInfo(tokens.access_token, String(said.sub))), ...said } : said;
  }

  /** What the provider says of a user beside the ID token; null if it says nothing. OpenID Connect Core 1.0, section 5.3 */
  private async userInfo(accessToken: string, subject: string): Promise<Claims | null> {
    const library = await openid();
    const client = await this.client();
    if (client.serverMetadata().userinfo_endpoint === undefined) return null;
    return library.fetchUserInfo(client, accessToken, subject);
  }

  /** The provider as it is known, asked for its settings if it is not. All that wait share one call. */
  private client(): Promise<Configuration> {
    const { known, failure } = this;
    const now = this.now();
    if (known !== null) {
      if (now - known.atMs > PROVIDER_SETTINGS_MS && !this.isPaused(now)) this.ask().catch(() => {});
      return Promise.resolve(known.client);
    }
    return failure !== null && this.isPaused(now) ? Promise.reject(failure.error) : this.ask();
  }

  private isPaused(now: number): boolean {
    return this.failure !== null && now - this.failure.atMs < PROVIDER_PAUSE_MS;
  }

  private ask(): Promise<Configuration> {
    this.asking ??= this.discover()
      .then(
        (client) => {
          this.known = { client, atMs: this.now() };
          this.failure = null;
          return client;
        },
        (error: unknown) => {
          this.failure = { error: problemOf(error), atMs: this.now() };
          throw this.failure.error;
        },
      )
      .finally(() => {
        this.asking = null;
      });
    return this.asking;
  }

  /** OpenID Connect Discovery 1.0, section 4 */
  private async discover(): Promise<Configuration> {
    const library = await openid();
    const { issuer, clientId, clientSecret } = this.settings;
    // The code flow may trust TLS instead of the ID token's signature, which holds wherever TLS ends. OpenID Connect Core 1.0, section 3.1.3.7
    const execute = [library.enableNonRepudiationChecks];
    if (issuer.startsWith("http:")) execute.push(library.allowInsecureRequests);
    return library.discovery(new URL(issuer), clientId, undefined, clientAuth(library, clientSecret), {
      [library.customFetch]: (url, options) => this.fetch(url, options),
      timeout: PROVIDER_TIMEOUT_MS / 1000,
      execute,
    });
  }

  private async fetch(address: string, options: CustomFetchOptions): Promise<Response> {
    this.checkAddress(new URL(address));
    const { authorities } = this.settings;
    const { status, headers, body } = await outboundRequest({
      url: address,
      method: options.method,
      headers: options.headers,
      ...(options.body === undefined || options.body === null ? {} : { body: String(options.body) }),
      ca: authorities,
      timeoutMs: PROVIDER_TIMEOUT_MS,
      maxBytes: MAX_PROVIDER_BYTES,
      wants: "all",
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    }).catch((error: unknown) => {
      if (error instanceof RangeError) throw new ProviderError("untrusted", "the provider's response is too long");
      throw error;
    });
    if (status >= 500 || status === 429) throw new ProviderError("away", `the provider answered ${status}`);
    return new Response(status === 204 ? null : body, { status, headers });
  }

  /** In clear text only to a provider that is on this machine itself. */
  private checkAddress({ protocol, hostname, host }: URL): void {
    const isLocal = this.settings.issuer.startsWith("http:") && isThisMachine(hostname);
    if (protocol === "https:" || (protocol === "http:" && isLocal)) return;
    throw new ProviderError("untrusted", `the provider names an address without TLS: ${host}`);
  }
}

let library: Promise<Library> | null = null;

function openid(): Promise<Library> {
  library ??= import("openid-client");
  return library;
}

function wordOf(tokens: Tokens, claims: Claims): ProviderWord {
  return {
    claims,
    idToken: tokens.id_token ?? "",
    refreshToken: tokens.refresh_token ?? "",
    expiresInS: Math.max(0, Math.floor(tokens.expires_in ?? 0)),
  };
}

/** In the Authorization field, unless the provider takes the secret in the body alone. RFC 6749 §2.3.1 */
function clientAuth(library: Library, secret: string): ClientAuth {
  if (secret === "") return library.None();
  const [basic, post] = [library.ClientSecretBasic(secret), library.ClientSecretPost(secret)];
  return (server, ...call) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const takesBasic = methods.includes("client_secret_basic") || !methods.includes("client_secret_post");
    (takesBasic ? basic : post)(server, ...call);
  };
}

async function guarded<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw problemOf(error);
  }
}

/** Messages of the library are its own texts; a body, which may hold tokens, is only in `cause`. */
function problemOf(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const { name = "", message = "", code = "", error: told, cause } = error as Readonly<Record<string, unknown>>;
  if (cause instanceof ProviderError) return cause;
  if (typeof told === "string") {
    const isAway = told === "server_error" || told === "temporarily_unavailable";
    const isOurs = told === "invalid_client" || told === "unauthorized_client";
    return new ProviderError(isAway || isOurs ? "away" : "refused", `the provider says ${plainText(told)}`);
  }
  const text = plainText(`${code} ${message}`);
  if (LIBRARY_CODE.test(String(code)) && !TIME_CODES.has(String(code))) return new ProviderError("untrusted", text);
  const inner = cause as { readonly code?: unknown; readonly message?: unknown } | undefined;
  const why = inner === undefined ? "" : `: ${plainText(`${inner.code ?? ""} ${inner.message ?? ""}`)}`;
  return new ProviderError("away", plainText(`${name} ${text}${why}`));
}

function plainText(text: string): string {
  return text
    .replace(/[^\x20-\x7e]+/g, "?")
    .trim()
    .slice(0, MAX_REASON_CHARS);
}

const LIBRARY_CODE = /^OAUTH_|^ERR_/;
const TIME_CODES: ReadonlySet<string> = new Set(["OAUTH_TIMEOUT", "OAUTH_ABORT"]);
const MAX_REASON_CHARS = 200;
