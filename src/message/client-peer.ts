import { MAX_CLIENT_CERT_CHARS } from "../core/limits.ts";
import { type ClientListener, NO_LISTENER } from "./client-listener.ts";
import type { ConnectionEnds } from "./script-call.ts";

/** Who a request comes from, as `auth` found it. docs/authentication.md */
export interface AuthIdentity {
  /** The user's name, as text; "" if the method knows of none. */
  readonly user: string;
  /** Whether `Authorization` was for the gateway, and does not go on. */
  readonly hidesCredentials: boolean;
  /** What else is known of the user, as text by name; a list is joined with commas. */
  readonly claims: Readonly<Record<string, string>>;
  /** Fields that the request gets before it goes on, one character a byte: no client's own with their names is left. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Fields that the response to the client gets, such as Set-Cookie, likewise; no stored response has them. */
  readonly responseFields: readonly (readonly [name: string, value: string])[];
}

/** Of a user of whom a method knows the name alone. */
export const NO_IDENTITY_PARTS: Pick<AuthIdentity, "claims" | "fields" | "responseFields"> = {
  claims: {},
  fields: [],
  responseFields: [],
};

/** A client's identity by its verified certificate. */
export interface ClientIdentity {
  /** The distinguished name, in one line as RFC 2253 writes it, such as `CN=client,O=Example`. */
  readonly subject: string;
  /** URIs among its alternative names, such as `spiffe://mesh/ns/default/sa/client`, as they stand there. */
  readonly uris: readonly string[];
  /** DNS names among its alternative names. */
  readonly dnsNames: readonly string[];
  /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
  readonly sha256: string;
}

/**
 * The address of a client that a proxy forwards for without naming it readably: no list of addresses holds it.
 * docs/security.md#client-addresses
 */
export const UNKNOWN_CLIENT = "unknown";

/** The address that limits and shares count for: clients that a proxy does not name count as one, whichever proxy forwards them. */
export function countedAddress(ex: {
  readonly clientIp: string;
  readonly client: { readonly socketAddress: string };
}): string {
  return ex.clientIp === UNKNOWN_CLIENT ? ex.client.socketAddress : ex.clientIp;
}

/** A socket that says who is at its other end, while it is open. */
interface AddressSource {
  /** Without a port; undefined if the peer is gone. */
  readonly remoteAddress: string | undefined;
}

/** A TLS socket, which gives its version while it is open. */
interface TlsVersionSource {
  /** Such as `TLSv1.3`. */
  getTLSVersion(): string;
  /** Whether the client resumed a session; absent over QUIC, which does not tell. */
  isSessionReused?(): boolean;
}

/** Who is at the other end of a client connection; one object a connection. */
export class ClientPeer {
  readonly tls: boolean;
  /** Port that the client connected to. */
  readonly localPort: number;
  /** From its certificate, if the listener asks for one and it has shown one that is trusted; else null. */
  readonly identity: ClientIdentity | null;

  /** The client's destination, as `address:port`, if a firewall rule redirected it here; "" if it came by itself. */
  destination = "";
  /** The client's port from a PROXY header; 0 without one. */
  toldPort = 0;

  /** The lines that tell an origin who the client is; null until `makeForwardLines` has made them. */
  forwardLines: Buffer | null = null;

  /** The name that its handshake asked for; "" without one, and over QUIC. */
  serverName = "";
  /** By which listener it came. */
  listener: ClientListener = NO_LISTENER;
  /** The demand of its handshake; see `clientDemand`. */
  demand = "";
  /** The group by which keys were exchanged, such as `X25519MLKEM768`; "" in clear text and over QUIC, which does not tell. */
  tlsGroup = "";
  /** Its ClientHello, for `ja4Of`; null after that, and for a configuration that asks for no fingerprint. */
  hello: Uint8Array | null = null;
  /** See `ja4Of`. */
  ja4 = "";
  /** How it began its HTTP/2 connection; null without one, and for a configuration that asks for no fingerprint. */
  opening: { readonly text: string } | null = null;
  /** Both ends by its socket; null without a socket. */
  ends: ConnectionEnds | null = null;
  /** What scripts learn of the ends: encoded parameters of this one, and of both. Made for the first of them. */
  scriptParams: { readonly server: Buffer; readonly direct: Buffer } | null = null;

  /** The address in its PROXY header, UNKNOWN_CLIENT if that names no client; "" without a header. */
  readonly toldAddress: string;
  private found: string;
  private ownNumber = 0;
  /** The source of the TCP peer's address; null once it is known. */
  private source: AddressSource | null;
  private readonly secured: TlsVersionSource | null;

  /**
   * @param from the TCP peer's address, or its socket, which is queried on first use: a system call that a
   * response of the gateway's own does not need
   * @param toldAddress the client in a PROXY header, UNKNOWN_CLIENT if it names none; "" without a header
   * @param secured says the version of TLS; null if there is none, or its handshake is not over
   */
  constructor(
    from: string | AddressSource,
    tls: boolean,
    localPort: number,
    toldAddress = "",
    identity: ClientIdentity | null = null,
    secured: TlsVersionSource | null = null,
  ) {
    this.source = typeof from === "string" ? null : from;
    this.found = typeof from === "string" ? unmapped(from) : "";
    this.toldAddress = unmapped(toldAddress);
    this.tls = tls;
    this.localPort = localPort;
    this.identity = identity;
    this.secured = secured;
  }

  /** The version of TLS that the client speaks, such as `TLSv1.3`; "" in clear text. */
  get tlsVersion(): string {
    return this.secured === null ? "" : this.secured.getTLSVersion();
  }

  /** Whether its handshake resumed a session; null in clear text, and if that is unknown. */
  get isResumed(): boolean | null {
    return this.secured?.isSessionReused?.() ?? null;
  }

  /** A number of the connection, its own in this worker; given when it is first asked for. */
  get number(): number {
    if (this.ownNumber === 0) this.ownNumber = ++lastNumber;
    return this.ownNumber;
  }

  /**
   * The TCP peer: the load balancer, if a PROXY header named a client behind it; else the same as `address`. "" if
   * the peer was gone before it was first queried.
   */
  get socketAddress(): string {
    if (this.source !== null) {
      this.found = unmapped(this.source.remoteAddress ?? "");
      this.source = null;
    }
    return this.found;
  }

  /**
   * The connection's source, without a port: the client in a PROXY header, else the TCP peer. IPv4-mapped addresses
   * are written as IPv4.
   */
  get address(): string {
    return this.toldAddress === "" ? this.socketAddress : this.toldAddress;
  }

  /**
   * The lines that tell an origin who the client is, if no trusted proxy is between, up to the name of the host that
   * it asked for. Made once a connection.
   */
  makeForwardLines(): Buffer {
    this.forwardLines = Buffer.from(
      `X-Forwarded-For: ${this.address}\r\nX-Real-IP: ${this.address}\r\nX-Forwarded-Proto: ${this.tls ? "https" : "http"}\r\n${this.certificateLine}X-Forwarded-Host: `,
    );
    return this.forwardLines;
  }

  /**
   * The line that tells an origin whom the client's certificate names, with its line break; "" if none was verified.
   * The form is the one that Envoy has made usual. docs/tls.md#client-certificates
   */
  get certificateLine(): string {
    if (this.identity === null) return "";
    const { sha256, subject, uris, dnsNames } = this.identity;
    const parts = [`Hash=${sha256}`, `Subject=${quoted(subject)}`, ...uris.map((uri) => `URI=${plain(uri)}`)];
    parts.push(...dnsNames.map((name) => `DNS=${plain(name)}`));
    let value = "";
    for (const part of parts) if (value.length + part.length < MAX_CLIENT_CERT_CHARS) value += `${value && ";"}${part}`;
    return `X-Forwarded-Client-Cert: ${value}\r\n`;
  }

  /** Whether the connection comes from the TCP peer itself. */
  isDirect(): boolean {
    return this.address === this.socketAddress;
  }
}

let lastNumber = 0;

/** Whether an address is that of this machine. */
export function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

/** The address of the peer of a UNIX socket: its user's number, -1 if the system does not tell. */
export function unixAddress(uid: number): string {
  return uid < 0 ? UNIX : `${UNIX}${uid}`;
}

const UNIX = "unix:";

/** An IPv4-mapped address of IPv6 as IPv4, any other as it is. */
export function unmapped(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** Between quotes; what could end them, or the line, is escaped. */
function quoted(text: string): string {
  return `"${text
    .toWellFormed()
    .replace(/[^\x20-\x7e]/gu, escaped)
    .replace(/["\\]/g, "\\$&")}"`;
}

/** Without quotes, so that nothing in it may divide the parts. */
function plain(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]|[";,\\]/gu, escaped);
}

function escaped(text: string): string {
  return encodeURIComponent(text) === text
    ? `%${text.charCodeAt(0).toString(16).toUpperCase()}`
    : encodeURIComponent(text);
}

/** If there is no client yet. */
export const NO_CLIENT: ClientPeer = new ClientPeer("", false, 0);
