import "reflect-metadata";
import {
  AuthorityKeyIdentifierExtension,
  Pkcs10CertificateRequest,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import { CURVE, makeKeys } from "./certificate.ts";

/** A problem that the directory answers with, once or until it is taken away. */
export interface Problem {
  readonly status: number;
  /** The end of its type, such as `rateLimited`. */
  readonly kind: string;
  readonly detail: string;
  readonly retryAfter?: string;
}

type Json = Record<string, unknown>;

interface Authorization {
  readonly name: string;
  readonly token: string;
  status: string;
  error: Json | null;
}

interface Order {
  readonly names: readonly string[];
  readonly authorizations: readonly string[];
  chain: string;
}

const KEY_ID = "69885b6b87464041e1b37b847ba0ae2cde01c8d4";

/**
 * A certificate authority as far as an ACME client can tell (RFC 8555), over plain HTTP on loopback. It believes every
 * signature, fetches http-01 answers for real, and fails where a test wants it to.
 */
export class AcmeDirectory {
  /** Milliseconds that certificates are good for. */
  lifeMs = 90 * 86_400_000;
  /** Where http-01 answers are fetched; 0 takes every challenge for answered. */
  challengePort = 0;
  /** What new orders are answered with; null makes them. */
  problem: Problem | null = null;
  /** What certificates wait for; null for nothing. */
  finalizing: (() => Promise<void>) | null = null;
  /** The renewal information document; null has none. */
  renewalInfo: Json | null = null;
  /** How often the renewal information of a certificate was asked for. */
  renewalAsks = 0;
  /** Payloads of the new accounts and new orders. */
  readonly accounts: Json[] = [];
  readonly orders: Json[] = [];
  private readonly known = new Set<string>();
  private readonly authorizations = new Map<string, Authorization>();
  private readonly placed = new Map<string, Order>();
  private server: Bun.Server<undefined> | null = null;
  private counter = 0;
  /** It stays when the directory stops, so that it can come back. */
  port = 0;

  static start(): AcmeDirectory {
    const directory = new AcmeDirectory();
    directory.listen();
    return directory;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/directory`;
  }

  /** Answers; after a `stop` at the same place as before. */
  listen(): void {
    const { port } = this;
    const fetch = (request: Request): Promise<Response> => this.answer(request);
    this.server = Bun.serve({ hostname: "127.0.0.1", port, fetch });
    this.port = this.server.port!;
  }

  stop(): void {
    void this.server?.stop(true);
  }

  /** Forgets all accounts, as a directory does that was set up anew. */
  forget(): void {
    this.known.clear();
  }

  private async answer(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    if (path === "/directory") return this.json(200, this.resources());
    if (path === "/nonce") return this.json(200, {});
    if (path.startsWith("/renewal/")) this.renewalAsks++;
    if (path.startsWith("/renewal/"))
      return this.renewalInfo === null ? refusal(NOTHING) : this.json(200, this.renewalInfo);
    const { payload, kid, isEmpty } = await readSigned(request);
    if (path === "/new-account") return this.newAccount(payload);
    if (!this.known.has(kid)) return refusal({ status: 400, kind: "accountDoesNotExist", detail: "no such account" });
    if (path === "/new-order") return this.newOrder(payload);
    const [, kind = "", id = ""] = path.split("/");
    if (kind === "order") return this.order(id);
    if (kind === "authorization") return this.authorization(id);
    if (kind === "challenge") return this.challenge(id, !isEmpty);
    if (kind === "finalize") return this.finalize(id, String(payload.csr));
    if (kind === "certificate") return new Response(this.placed.get(id)!.chain, { headers: this.headers() });
    return kind === "account" ? this.json(200, { status: "valid" }) : refusal(NOTHING);
  }

  private resources(): Json {
    const at = (path: string): string => `http://127.0.0.1:${this.port}/${path}`;
    const resources = { newNonce: at("nonce"), newAccount: at("new-account"), newOrder: at("new-order") };
    return this.renewalInfo === null ? resources : { ...resources, renewalInfo: at("renewal") };
  }

  private newAccount(payload: Json): Response {
    this.accounts.push(payload);
    const url = `http://127.0.0.1:${this.port}/account/${++this.counter}`;
    this.known.add(url);
    return this.json(201, { status: "valid" }, { Location: url });
  }

  private newOrder(payload: Json): Response {
    if (this.problem !== null) return refusal(this.problem);
    this.orders.push(payload);
    const names = (payload.identifiers as { value: string }[]).map(({ value }) => value);
    const authorizations = names.map((name) => {
      const id = `a${++this.counter}`;
      this.authorizations.set(id, {
        name,
        token: `token-${id}_${crypto.randomUUID()}`,
        status: "pending",
        error: null,
      });
      return id;
    });
    const id = `o${++this.counter}`;
    this.placed.set(id, { names, authorizations, chain: "" });
    return this.order(id, 201);
  }

  private order(id: string, code = 200): Response {
    const order = this.placed.get(id)!;
    const states = order.authorizations.map((each) => this.authorizations.get(each)!.status);
    const proven = states.every((state) => state === "valid") ? "ready" : "pending";
    const at = (path: string): string => `http://127.0.0.1:${this.port}/${path}`;
    const body = {
      status: order.chain === "" ? (states.includes("invalid") ? "invalid" : proven) : "valid",
      authorizations: order.authorizations.map((each) => at(`authorization/${each}`)),
      finalize: at(`finalize/${id}`),
      ...(order.chain === "" ? {} : { certificate: at(`certificate/${id}`) }),
    };
    return this.json(code, body, { Location: at(`order/${id}`) });
  }

  private authorization(id: string): Response {
    const { name, status } = this.authorizations.get(id)!;
    const challenges = ["http-01", "tls-alpn-01"].map((type) => this.challengeBody(id, type));
    return this.json(200, { status, identifier: { type: "dns", value: name }, challenges });
  }

  private challengeBody(id: string, type: string): Json {
    const { token, status, error } = this.authorizations.get(id)!;
    const url = `http://127.0.0.1:${this.port}/challenge/${id}`;
    return { type, url, token, status, ...(error === null ? {} : { error }) };
  }

  private async challenge(id: string, isReady: boolean): Promise<Response> {
    const authorization = this.authorizations.get(id)!;
    if (isReady && authorization.status === "pending") await this.validate(authorization);
    return this.json(200, this.challengeBody(id, "http-01"));
  }

  private async validate(authorization: Authorization): Promise<void> {
    authorization.status = "valid";
    if (this.challengePort === 0) return;
    const url = `http://127.0.0.1:${this.challengePort}/.well-known/acme-challenge/${authorization.token}`;
    const text = await fetch(url, { headers: { Host: authorization.name }, keepalive: false }).then(
      (reply) => reply.text(),
      String,
    );
    if (text.startsWith(`${authorization.token}.`)) return;
    authorization.status = "invalid";
    authorization.error = {
      type: "urn:ietf:params:acme:error:unauthorized",
      detail: `wrong answer: ${text.slice(0, 80)}`,
    };
  }

  private async finalize(id: string, csr: string): Promise<Response> {
    await this.finalizing?.();
    const issuer = await makeKeys();
    const order = this.placed.get(id)!;
    const request = new Pkcs10CertificateRequest(Buffer.from(csr, "base64url"));
    const certificate = await X509CertificateGenerator.create({
      issuer: "CN=directory",
      subject: "CN=test",
      publicKey: request.publicKey,
      signingKey: issuer.privateKey,
      signingAlgorithm: CURVE,
      notBefore: new Date(Date.now() - 1000),
      notAfter: new Date(Date.now() + this.lifeMs),
      extensions: [
        new SubjectAlternativeNameExtension(order.names.map((value) => ({ type: "dns" as const, value }))),
        new AuthorityKeyIdentifierExtension(KEY_ID),
      ],
    });
    order.chain = `${certificate.toString("pem")}\n`;
    return this.order(id);
  }

  private json(status: number, body: Json, more: Record<string, string> = {}): Response {
    return new Response(JSON.stringify(body), {
      status,
      headers: { "Content-Type": "application/json", ...this.headers(), ...more },
    });
  }

  private headers(): Record<string, string> {
    return { "Replay-Nonce": `nonce${++this.counter}` };
  }
}

const NOTHING: Problem = { status: 404, kind: "malformed", detail: "nothing here" };

function refusal({ status, kind, detail, retryAfter }: Problem): Response {
  return new Response(JSON.stringify({ type: `urn:ietf:params:acme:error:${kind}`, detail }), {
    status,
    headers: {
      "Content-Type": "application/problem+json",
      "Replay-Nonce": crypto.randomUUID(),
      ...(retryAfter === undefined ? {} : { "Retry-After": retryAfter }),
    },
  });
}

async function readSigned(
  request: Request,
): Promise<{ readonly payload: Json; readonly kid: string; readonly isEmpty: boolean }> {
  const body = (await request.json()) as { protected: string; payload: string };
  const head = JSON.parse(Buffer.from(body.protected, "base64url").toString()) as { kid?: string };
  const payload = body.payload === "" ? {} : (JSON.parse(Buffer.from(body.payload, "base64url").toString()) as Json);
  return { payload, kid: head.kid ?? "", isEmpty: body.payload === "" };
}
