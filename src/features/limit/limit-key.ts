import { parseAddress } from "../../core/ip-address.ts";
import type { BucketKey } from "../../memory/token-bucket-key.ts";
import { countedAddress } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import { PLACEHOLDERS } from "../../proto/template/placeholders.ts";
import type { FingerprintName } from "./settings.ts";

/** Where hashes of keys come from: the buckets of this gateway, or those of a fleet. */
export interface KeySource {
  /** A hash of its own for each purpose. */
  keyFor(purpose: string): BucketKey;
}

/** What tells the buckets of one limit apart. */
export interface LimitKey {
  /** The exchange's key, hashed. */
  of(ex: Exchange): BucketKey;
}

/** `key: route`: one bucket for all requests. */
export class OneKey implements LimitKey {
  private readonly key: BucketKey;

  constructor(buckets: KeySource, purpose: string) {
    this.key = buckets.keyFor(purpose);
    this.key.hash(ONE, 0, ONE.length);
  }

  of(): BucketKey {
    return this.key;
  }
}

/**
 * `key: client_ip`: a bucket for each IPv4 address, and for each IPv6 network of so many bits: a single subscriber has all 2^64
 * addresses of a /64 to come with, and some have a /56 or a /48.
 */
export class ClientLimitKey implements LimitKey {
  private readonly key: BucketKey;
  /** Octets of an IPv6 address that count, and the bits that count of the last of them. */
  private readonly networkOctets: number;
  private readonly lastMask: number;

  /** @param ipv6Prefix bits of the network, 1 to 128 */
  constructor(buckets: KeySource, purpose: string, ipv6Prefix: number) {
    this.key = buckets.keyFor(`${purpose} client`);
    this.networkOctets = Math.ceil(ipv6Prefix / 8);
    this.lastMask = (0xff << (this.networkOctets * 8 - ipv6Prefix)) & 0xff;
  }

  of(ex: Exchange): BucketKey {
    const address = countedAddress(ex);
    if (address.includes(":") && parseAddress(address, octets)) {
      octets[this.networkOctets - 1]! &= this.lastMask;
      this.key.hash(markedOctets, 0, 1 + this.networkOctets);
    } else this.key.hash(text, 0, text.latin1Write(address, 0));
    return this.key;
  }
}

/**
 * `key: user`: a bucket for each user that `auth` has let in, whatever address it comes from; requests of no user are told apart by
 * their clients. What a client says of itself has no say in it.
 */
export class UserLimitKey implements LimitKey {
  private readonly key: BucketKey;
  private readonly client: ClientLimitKey;

  constructor(buckets: KeySource, purpose: string, ipv6Prefix: number) {
    this.key = buckets.keyFor(`${purpose} user`);
    this.client = new ClientLimitKey(buckets, purpose, ipv6Prefix);
  }

  of(ex: Exchange): BucketKey {
    if (ex.identity === null) return this.client.of(ex);
    const name = Buffer.from(ex.identity.user, "utf8");
    this.key.hash(name, 0, name.length);
    return this.key;
  }
}

/** `key: agent.name`: a bucket for each agent that has signed; other requests go by their clients. */
export class AgentLimitKey implements LimitKey {
  private readonly key: BucketKey;
  private readonly client: ClientLimitKey;

  constructor(buckets: KeySource, purpose: string, ipv6Prefix: number) {
    this.key = buckets.keyFor(`${purpose} agent`);
    this.client = new ClientLimitKey(buckets, purpose, ipv6Prefix);
  }

  of(ex: Exchange): BucketKey {
    const { agentName } = ex;
    if (agentName === "") return this.client.of(ex);
    const name = Buffer.from(agentName, "latin1");
    this.key.hash(name, 0, name.length);
    return this.key;
  }
}

/**
 * `key: header:NAME`: a bucket for each value of the field; requests without it, or with an empty one, are told apart by their
 * clients. A field that tells of clients is read from trusted proxies alone: others would empty any client's bucket.
 * docs/security.md#client-addresses
 */
export class HeaderLimitKey implements LimitKey {
  private readonly key: BucketKey;
  private readonly client: ClientLimitKey;
  /** All that a client sends, whatever the field says. */
  readonly all: ClientLimitKey;
  private readonly field: SentField;

  /** @param name lower-case */
  constructor(buckets: KeySource, purpose: string, name: string, ipv6Prefix: number) {
    this.key = buckets.keyFor(`${purpose} header`);
    this.client = new ClientLimitKey(buckets, purpose, ipv6Prefix);
    this.all = new ClientLimitKey(buckets, `${purpose} all`, ipv6Prefix);
    this.field = new SentField(name);
  }

  of(ex: Exchange): BucketKey {
    const { headers } = ex.request;
    const index = this.field.find(ex.request);
    const from = index < 0 ? 0 : headers.valueFrom(index);
    const to = index < 0 ? 0 : headers.valueTo(index);
    if (from === to) return this.client.of(ex);
    this.key.hash(headers.bytes, from, to);
    return this.key;
  }
}

/**
 * `key: tls.ja4` and the like: a bucket for each fingerprint; requests without one are told apart by their clients. A client can change its
 * fingerprint as it can a field, so that it has a ceiling of its own likewise.
 */
export class FingerprintLimitKey implements LimitKey {
  /** All that a client sends, whatever its fingerprint. */
  readonly all: ClientLimitKey;
  private readonly key: BucketKey;
  private readonly client: ClientLimitKey;
  private readonly read: (ex: Exchange) => string;

  constructor(buckets: KeySource, purpose: string, name: FingerprintName, ipv6Prefix: number) {
    this.key = buckets.keyFor(`${purpose} ${name}`);
    this.client = new ClientLimitKey(buckets, purpose, ipv6Prefix);
    this.all = new ClientLimitKey(buckets, `${purpose} all`, ipv6Prefix);
    this.read = PLACEHOLDERS.find((one) => one.name === name)!.reader("");
  }

  of(ex: Exchange): BucketKey {
    const value = this.read(ex);
    if (value === "") return this.client.of(ex);
    const bytes = Buffer.from(value, "latin1");
    this.key.hash(bytes, 0, bytes.length);
    return this.key;
  }
}

const ONE: Uint8Array = Uint8Array.of(1);
/** An IPv6 address after a byte that no text of an address has; one for all, since nothing waits in between. */
const markedOctets = new Uint8Array(17);
const octets = markedOctets.subarray(1);
const text = Buffer.alloc(64);
