import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import Provider from "oidc-provider";
import { freePort } from "../harness/ports.ts";

/** What the package gives to the functions of its configuration, as far as they need it. */
interface Context {
  readonly oidc: {
    readonly client: { readonly clientId: string };
    readonly session: { readonly accountId: string };
    readonly provider: {
      readonly Grant: new (of: object) => { addOIDCScope(scope: string): void; save(): Promise<string> };
    };
  };
}

/** How the provider is set up for a test. */
export interface CertifiedSetup {
  /** Origins of the gateways that may send users. */
  readonly sites: readonly string[];
  readonly accessTokenS?: number;
  /** Further addresses that users may come back to. */
  readonly callbacks?: readonly string[];
}

/**
 * The npm package oidc-provider, which the OpenID Foundation has certified, on a port of this machine. Users sign in with a form and
 * any password; `alice` is `alice@example.com`, of the group staff.
 */
export class CertifiedProvider {
  readonly issuer: string;
  readonly clientId = "edge";
  readonly clientSecret = "a secret of the client";
  private readonly server: Server;

  private constructor(
    readonly port: number,
    { sites, accessTokenS = 3600, callbacks = [] }: CertifiedSetup,
  ) {
    this.issuer = `http://localhost:${port}`;
    const { clientId: client_id, clientSecret: client_secret } = this;
    const provider = new Provider(this.issuer, {
      clients: [
        {
          client_id,
          client_secret,
          grant_types: ["authorization_code", "refresh_token"],
          redirect_uris: [...sites.map((site) => `${site}/.edge/oidc/callback`), ...callbacks],
          post_logout_redirect_uris: sites.map((site) => `${site}/.edge/oidc/logout`),
        },
      ],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
      cookies: { keys: ["a key of the provider's cookies"] },
      jwks: {
        keys: [
          { ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }), use: "sig" },
        ],
      },
      features: { devInteractions: { enabled: false }, revocation: { enabled: true } },
      ttl: {
        AccessToken: accessTokenS,
        IdToken: 300,
        Interaction: 600,
        Grant: 3600,
        Session: 3600,
        RefreshToken: 3600,
      },
      interactions: { url: (_: Context, { uid }: { uid: string }) => `/sign-in/${uid}` },
      issueRefreshToken: () => true,
      rotateRefreshToken: true,
      findAccount: (_: Context, id: string) => ({
        accountId: id,
        claims: () => ({
          sub: id,
          email: `${id}@example.com`,
          email_verified: true,
          name: `${id} Liddell`,
          groups: ["staff"],
        }),
      }),
      async loadExistingGrant({ oidc }: Context) {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope("openid email profile");
        await grant.save();
        return grant;
      },
    });
    const standard = provider.callback();
    this.server = createServer((request, response) => {
      if (request.url?.startsWith("/sign-in/")) void signIn(provider, request, response);
      else standard(request, response);
    });
  }

  static async start(setup: CertifiedSetup): Promise<CertifiedProvider> {
    const provider = new CertifiedProvider(freePort(), setup);
    await new Promise<void>((resolve) => provider.server.listen(provider.port, resolve));
    return provider;
  }

  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

async function signIn(provider: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === "POST") {
    let body = "";
    for await (const piece of request) body += piece;
    const accountId = new URLSearchParams(body).get("name") ?? "";
    return provider.interactionFinished(request, response, { login: { accountId } });
  }
  const { uid } = await provider.interactionDetails(request, response);
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.end(`<!doctype html><html lang="en"><title>Sign in</title><h1>Provider</h1>
<form method="post" action="/sign-in/${uid}"><input name="name" aria-label="Name"><input name="password" type="password"><button>Sign in</button></form>`);
}
