import { readFileSync } from "node:fs";
import { readCertificates } from "../../../proto/pem/pem-text.ts";
import type { AcmeConfig, AcmeOrder } from "../settings.ts";
import { AcmeClientAuthority } from "./acme-client-authority.ts";
import type { ChallengeResponder } from "./certificate-authority.ts";
import { CertificateRenewal, type RenewalListener, type RenewalPorts } from "./certificate-renewal.ts";
import type { DirectoryStorage } from "./certificate-storage.ts";
import { makeDnsRecords } from "./dns-records.ts";
import { DnsResponder } from "./dns-responder.ts";

/** What the renewals of one configuration work with. */
interface RenewalMakerPorts {
  /** Responds to challenges that the gateway's own listeners answer. */
  readonly responder: (order: AcmeOrder) => ChallengeResponder;
  /** Where account and certificates of a directory are kept. */
  readonly storage: (directoryUrl: string) => DirectoryStorage;
  /** A record of dns-01 could not be removed. */
  readonly onLeftOver: (name: string, error: string) => void;
  /** Runs the steps of all renewals one after the other. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Makes the renewal of an order. */
export type RenewalMaker = (
  order: AcmeOrder,
  listener: RenewalListener,
  terms: Pick<RenewalPorts, "hasStandIn" | "approval">,
) => CertificateRenewal;

/**
 * Wires `server.acme`: makes one renewal an order. This file brings the ACME client with it, so it is loaded only if it is wanted.
 * @throws when `ca_file` cannot be read
 */
export function renewalMaker(
  config: AcmeConfig,
  { responder, storage, onLeftOver, inTurn }: RenewalMakerPorts,
): RenewalMaker {
  const { dns } = config;
  const authorities = new Map<string, AcmeClientAuthority>();
  const sharedAt = (directoryUrl: string): AcmeClientAuthority => {
    const authority = authorities.get(directoryUrl) ?? authorityAt(directoryUrl, config);
    authorities.set(directoryUrl, authority);
    return authority;
  };
  const records = dns === null ? null : new DnsResponder(makeDnsRecords(dns), dns, onLeftOver);
  return (order, listener, terms) => {
    const { directoryUrls, ...wish } = order;
    return new CertificateRenewal({
      ...terms,
      wish,
      sources: directoryUrls.map((directoryUrl) => ({
        directoryUrl,
        authority: sharedAt(directoryUrl),
        accounts: storage(directoryUrl),
      })),
      responder: wish.challengeType === "dns-01" && records !== null ? records : responder(order),
      store: storage(directoryUrls[0]!),
      listener,
      inTurn,
      now: Date.now,
      random: Math.random,
    });
  };
}

/**
 * The authority at a directory.
 * @throws when `ca_file` cannot be read
 */
export function authorityAt(
  directoryUrl: string,
  { email, eabKid, eabHmacKey, caFile }: Pick<AcmeConfig, "email" | "eabKid" | "eabHmacKey" | "caFile">,
): AcmeClientAuthority {
  const ca = caFile === "" ? "" : readCertificates(readFileSync(caFile)).pem;
  return new AcmeClientAuthority({ directoryUrl, email, eabKid, eabHmacKey, ca });
}
