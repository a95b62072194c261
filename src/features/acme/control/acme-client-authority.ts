import { Agent } from "node:https";
import * as acme from "acme-client";
import { ipVersion, isThisMachine } from "../../../core/ip-address.ts";
import {
  AcmeFailure,
  type CertificateAuthority,
  type CertificateIssue,
  type CertificateRequest,
  type Challenge,
  type ChallengeResponder,
  type RenewalWindow,
} from "./certificate-authority.ts";
import { LastProblem } from "./last-problem.ts";
import { newPrivateKey } from "./own-certificate.ts";
import { certificateId, readWindow } from "./renewal-information.ts";
import type { StoredAccount } from "./stored-certificate.ts";

/** Bytes of one response of a certificate authority. */
const MAX_ACME_REPLY_BYTES = 1_048_576;

/** How the authority is reached. */
export interface AuthorityAccess {
  readonly directoryUrl: string;
  /** Contact address; "" registers without one. */
  readonly email: string;
  /** External account binding; both "" when the authority needs none. */
  readonly eabKid: string;
  readonly eabHmacKey: string;
  /** CA bundle for the directory's own HTTPS certificate, PEM; "" uses the system's roots. */
  readonly ca: string;
}

/** RFC 8555 by way of the acme-client package. Its own retries of failed requests are off: when to try again is our business. */
export class AcmeClientAuthority implements CertificateAuthority {
  private readonly access: AuthorityAccess;
  private renewalInfo = "";

  constructor(access: AuthorityAccess) {
    this.access = access;
    const { defaults } = acme.axios;
    Object.assign(defaults, { acmeSettings: { retryMaxAttempts: 0, retryDefaultDelay: 1 } });
    defaults.timeout = REQUEST_TIMEOUT_MS;
    defaults.maxContentLength = MAX_ACME_REPLY_BYTES;
    // A directory on this machine is not asked for by way of a proxy that the environment names.
    defaults.proxy = isThisMachine(new URL(access.directoryUrl).hostname) ? false : undefined;
    // Said here, since the runtime would let NODE_TLS_REJECT_UNAUTHORIZED decide. docs/security.md#environment
    defaults.httpsAgent = new Agent({ rejectUnauthorized: true, ...(access.ca === "" ? {} : { ca: access.ca }) });
  }

  async obtain(request: CertificateRequest, responder: ChallengeResponder): Promise<CertificateIssue> {
    const problem = new LastProblem(acme.axios);
    try {
      return await this.issue(request, responder, problem);
    } catch (error) {
      throw problem.explain(error);
    } finally {
      problem.forget();
      await responder.answer([]);
    }
  }

  async renewalWindow(chain: string): Promise<RenewalWindow | null> {
    try {
      if (this.renewalInfo === "") {
        const { data } = await acme.axios.get(this.access.directoryUrl);
        this.renewalInfo = typeof data?.renewalInfo === "string" ? data.renewalInfo : "";
      }
      const id = certificateId(chain);
      if (this.renewalInfo === "" || id === "") return null;
      const response = await acme.axios.get(`${this.renewalInfo}/${id}`);
      return response.status === 200 ? readWindow(response.data, response.headers["retry-after"], Date.now()) : null;
    } catch {
      // Without a response the rule of thirty days holds.
      return null;
    }
  }

  /**
   * Revokes a certificate. RFC 8555 §7.6
   * @param chain PEM @param reason a code of RFC 5280 §5.3.1, 0 for none
   * @throws AcmeFailure
   */
  revoke({ key, url }: StoredAccount, chain: string, reason: number): Promise<void> {
    return this.asAccount({ key, url }, (client) => client.revokeCertificate(chain, { reason }));
  }

  /** Puts another key in the place of the account's. RFC 8555 §7.3.5 @throws AcmeFailure */
  async rollOver(account: StoredAccount, newKey: string): Promise<void> {
    await this.asAccount(account, (client) => client.updateAccountKey(newKey));
  }

  private async asAccount<T>({ key, url }: StoredAccount, work: (client: acme.Client) => Promise<T>): Promise<T> {
    const problem = new LastProblem(acme.axios);
    try {
      return await work(await this.client({ accountKey: key }, url, problem));
    } catch (error) {
      throw problem.explain(error);
    } finally {
      problem.forget();
    }
  }

  private async issue(
    request: CertificateRequest,
    responder: ChallengeResponder,
    problem: LastProblem,
  ): Promise<CertificateIssue> {
    const { client, order } = await this.order(request, problem);
    const challenges = await this.openChallenges(client, order, request);
    if (challenges.length > 0) {
      await responder.answer(challenges.map(({ challenge }) => challenge));
      for (const { offer } of challenges) await client.completeChallenge(offer);
      await this.proven(client, challenges, problem);
    }
    const ready = await client.waitForValidStatus(order);
    const key = await newPrivateKey(request.keyType);
    const [, csr] = await acme.crypto.createCsr({ altNames: [...request.names] }, key);
    const url = order.url;
    const final = ready.status === "valid" ? ready : await client.finalizeOrder({ ...ready, url }, csr);
    const chain = await client.getCertificate({ ...final, url });
    return { chain, key, accountUrl: client.getAccountUrl() };
  }

  /**
   * Waits until the authority has looked at all challenges, so that each name that fails is known.
   * @throws AcmeFailure that names them
   */
  private async proven(client: acme.Client, challenges: readonly OpenChallenge[], problem: LastProblem): Promise<void> {
    const refused: string[] = [];
    let first: AcmeFailure | null = null;
    const looks = challenges.map(async ({ offer, wish }) => {
      try {
        await client.waitForValidStatus(offer);
      } catch (error) {
        first ??= problem.explain(error);
        refused.push(wish);
      }
    });
    await Promise.all(looks);
    if (first !== null) {
      const { kind, message, retryAfterMs } = first as AcmeFailure;
      throw new AcmeFailure(kind, message, retryAfterMs, refused);
    }
  }

  /**
   * Makes the order. Once more without what the authority does not know any more: the account, or the certificate that is
   * replaced (RFC 9773 §5).
   */
  private async order(request: CertificateRequest, problem: LastProblem): Promise<PlacedOrder> {
    const identifiers = request.names.map((value) => ({ type: ipVersion(value) === 0 ? "dns" : "ip", value }));
    const { accountUrl, replaces, profile } = request;
    const client = await this.client(request, accountUrl, problem);
    const plain = profile === "" ? { identifiers } : { identifiers, profile };
    try {
      const data = replaces === "" ? plain : { ...plain, replaces };
      return { client, order: await client.createOrder(data) };
    } catch (error) {
      const isForgotten = accountUrl !== "" && problem.isAbout("accountDoesNotExist");
      const isReplaced = replaces !== "" && problem.isAbout("alreadyReplaced", "malformed");
      if (!isForgotten && !isReplaced) throw error;
      problem.clear();
      const again = isForgotten ? await this.client(request, "", problem) : client;
      return { client: again, order: await again.createOrder(plain) };
    }
  }

  private async client(
    { accountKey }: Pick<CertificateRequest, "accountKey">,
    accountUrl: string,
    problem: LastProblem,
  ): Promise<acme.Client> {
    const { directoryUrl, email, eabKid, eabHmacKey } = this.access;
    const client = new acme.Client({
      directoryUrl,
      accountKey,
      ...(accountUrl === "" ? {} : { accountUrl }),
      ...(eabKid === "" ? {} : { externalAccountBinding: { kid: eabKid, hmacKey: eabHmacKey } }),
      backoffAttempts: POLLS,
      backoffMin: POLL_MIN_MS,
      backoffMax: POLL_MAX_MS,
    });
    const contact = email === "" ? {} : { contact: [`mailto:${email}`] };
    if (accountUrl !== "") return client;
    try {
      await client.createAccount({ termsOfServiceAgreed: true, ...contact });
    } catch (error) {
      // The key has an account, which the client then tries to change: strict authorities refuse a change of nothing.
      if (!knowsAccount(client)) throw error;
      problem.clear();
    }
    return client;
  }

  /** The challenges that must be answered: none for names that the authority takes for proven already. */
  private async openChallenges(
    client: acme.Client,
    order: acme.Order,
    { challengeType }: CertificateRequest,
  ): Promise<OpenChallenge[]> {
    const open: OpenChallenge[] = [];
    for (const authorization of await client.getAuthorizations(order)) {
      if (authorization.status === "valid") continue;
      const name = authorization.identifier.value;
      const wish = authorization.wildcard === true ? `*.${name}` : name;
      const offer = authorization.challenges.find(({ type }) => type === challengeType);
      if (offer === undefined) {
        throw new AcmeFailure("no_challenge", `the directory offers no ${challengeType} for ${wish}`, 0, [wish]);
      }
      const keyAuthorization = await client.getChallengeKeyAuthorization(offer);
      open.push({ offer, wish, challenge: { name, token: offer.token, keyAuthorization } });
    }
    return open;
  }
}

function knowsAccount(client: acme.Client): boolean {
  try {
    return client.getAccountUrl() !== "";
  } catch {
    return false;
  }
}

interface PlacedOrder {
  readonly client: acme.Client;
  readonly order: acme.Order;
}

interface OpenChallenge {
  readonly offer: acme.Authorization["challenges"][number];
  readonly challenge: Challenge;
  /** The name as it was ordered. */
  readonly wish: string;
}

const REQUEST_TIMEOUT_MS = 30_000;
/** Polls of a challenge or an order: some three minutes in all. */
const POLLS = 22;
const POLL_MIN_MS = 250;
const POLL_MAX_MS = 10_000;
