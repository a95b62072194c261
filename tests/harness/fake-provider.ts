import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { freePort } from "./ports.ts";

/** What a sign-in at the provider was begun with. */
interface Grant {
  readonly nonce: string;
  readonly challenge: string;
  readonly redirectUri: string;
}

type Claims = Record<string, unknown>;

/** What a test changes of how the provider behaves; everything is optional. */
export interface ProviderHabits {
  /** Laid over the claims of the ID token, after everything else; undefined takes one out. */
  idToken?: Claims;
  /** Laid over the metadata. */
  metadata?: Claims;
  /** Laid over the response of the token endpoint. */
  tokens?: Claims;
  /** Laid over the parameters of the redirect back; undefined takes one out. */
  callback?: Readonly<Record<string, string | undefined>>;
  /** What userinfo says. */
  userInfo?: Claims;
  /** The ID token is altered after it was signed. */
  breaksSignature?: boolean;
  /** The header of the ID token. */
  header?: Claims;
  /** How long each response takes. */
  delayMs?: number;
  /** Answers a path in place of the provider; null leaves it to it. */
  intercept?: (path: string) => Response | null;
}

/** An OpenID provider whose users sign in without a question, and that does wrong where a test says so. */
export class FakeProvider {
  habits: ProviderHabits = {};
  /** The user who signs in next. */
  user: Claims = { sub: "u-1", email: "alice@example.com", email_verified: true, groups: ["staff"] };
  /** Paths that were asked for, in their order. */
  readonly asked: string[] = [];
  readonly clientId = "edge";
  readonly clientSecret = "the secret of the client: %+/";
  expiresInS = 3600;
  rotatesRefreshTokens = true;
  private readonly keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
  private readonly grants: Map<string, Grant> = new Map();
  private readonly refreshTokens: Set<string> = new Set();
  private server: ReturnType<typeof Bun.serve> | null = null;

  private constructor(
    readonly port: number,
    private readonly tls: { readonly cert: string; readonly key: string } | null,
  ) {}

  static start(tls: { readonly cert: string; readonly key: string } | null = null): FakeProvider {
    const provider = new FakeProvider(freePort(), tls);
    provider.comeBack();
    return provider;
  }

  get issuer(): string {
    return `${this.tls === null ? "http" : "https"}://localhost:${this.port}`;
  }

  /** How many of the requests were for a path. */
  count(path: string): number {
    return this.asked.filter((one) => one === path).length;
  }

  /** It is away: connections are refused. */
  async goAway(): Promise<void> {
    await this.server?.stop(true);
    this.server = null;
  }

  comeBack(): void {
    this.server = Bun.serve({
      port: this.port,
      hostname: "localhost",
      ...(this.tls === null ? {} : { tls: this.tls }),
      fetch: (request) => this.answer(request),
    });
  }

  async stop(): Promise<void> {
    await this.goAway();
  }

  /** No refresh token is good any more. */
  endSessions(): void {
    this.refreshTokens.clear();
  }

  private async answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    this.asked.push(url.pathname);
    if (this.habits.delayMs !== undefined) await Bun.sleep(this.habits.delayMs);
    const instead = this.habits.intercept?.(url.pathname);
    if (instead) return instead;
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return Response.json(this.metadata());
      case "/jwks":
        return Response.json({
          keys: [{ ...this.keys.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig", alg: "RS256" }],
        });
      case "/authorize":
        return this.authorize(url.searchParams);
      case "/token":
        return this.token(new URLSearchParams(await request.text()), request.headers.get("authorization") ?? "");
      case "/userinfo":
        return Response.json({ sub: this.user.sub, ...this.habits.userInfo });
      case "/revoke":
        this.refreshTokens.delete(new URLSearchParams(await request.text()).get("token") ?? "");
        return new Response("");
      case "/end":
        return Response.redirect(url.searchParams.get("post_logout_redirect_uri")!, 302);
      default:
        return new Response("", { status: 404 });
    }
  }

  private metadata(): Claims {
    const { issuer } = this;
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      userinfo_endpoint: `${issuer}/userinfo`,
      end_session_endpoint: `${issuer}/end`,
      revocation_endpoint: `${issuer}/revoke`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      ...this.habits.metadata,
    };
  }

  private authorize(query: URLSearchParams): Response {
    const code = randomBytes(16).toString("hex");
    const redirectUri = query.get("redirect_uri")!;
    this.grants.set(code, { nonce: query.get("nonce")!, challenge: query.get("code_challenge")!, redirectUri });
    const back = new URL(redirectUri);
    const said = { code, state: query.get("state")!, iss: this.issuer, ...this.habits.callback };
    for (const [name, value] of Object.entries(said)) if (value !== undefined) back.searchParams.set(name, value);
    return Response.redirect(back.href, 302);
  }

  private token(form: URLSearchParams, authorization: string): Response {
    const [id = "", secret = ""] = Buffer.from(authorization.replace("Basic ", ""), "base64").toString().split(":");
    const isClient = decoded(id) === this.clientId && decoded(secret) === this.clientSecret;
    if (!isClient) return Response.json({ error: "invalid_client" }, { status: 401 });
    if (form.get("grant_type") === "refresh_token") return this.refresh(form.get("refresh_token") ?? "");
    const grant = this.grants.get(form.get("code") ?? "");
    this.grants.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isGood = grant?.challenge === challenge && grant.redirectUri === form.get("redirect_uri");
    return isGood ? this.tokens(grant.nonce) : Response.json({ error: "invalid_grant" }, { status: 400 });
  }

  private refresh(token: string): Response {
    if (!this.refreshTokens.has(token)) return Response.json({ error: "invalid_grant" }, { status: 400 });
    if (this.rotatesRefreshTokens) this.refreshTokens.delete(token);
    return this.tokens("");
  }

  private tokens(nonce: string): Response {
    const refreshToken = `r-${randomBytes(16).toString("hex")}`;
    this.refreshTokens.add(refreshToken);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      aud: this.clientId,
      exp: now + 300,
      iat: now,
      ...(nonce === "" ? {} : { nonce }),
      ...this.user,
      ...this.habits.idToken,
    };
    return Response.json({
      access_token: randomBytes(16).toString("hex"),
      token_type: "Bearer",
      expires_in: this.expiresInS,
      refresh_token: refreshToken,
      id_token: this.signed(claims),
      ...this.habits.tokens,
    });
  }

  private signed(claims: Claims): string {
    const header = { alg: "RS256", kid: "k1", typ: "JWT", ...this.habits.header };
    const text = `${encoded(header)}.${encoded(claims)}`;
    if (header.alg === "none") return `${text}.`;
    const signature = sign(text, this.keys.privateKey);
    if (this.habits.breaksSignature) signature[10]! ^= 1;
    return `${text}.${signature.toString("base64url")}`;
  }
}

function sign(text: string, key: KeyObject): Buffer {
  return createSign("sha256").update(text).sign(key);
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

/** RFC 6749 §2.3.1 */
function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
