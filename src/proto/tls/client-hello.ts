import { LOWER } from "../../core/bytes.ts";

/** Names of application protocols that edge reads of one client. */
const MAX_ALPN_NAMES = 32;
/** Signature schemes that edge reads of a ClientHello; there are some thirty. */
const MAX_SIGNATURE_SCHEMES = 64;

/** What a ClientHello says that decides which certificate and protocol the client gets. */
export interface ClientHello {
  /** Lower-case, without a dot at the end; "" if the client names none, or something that is no host name. */
  readonly serverName: string;
  /** In the client's order of preference; the first MAX_ALPN_NAMES. Bytes above 0x7f as Latin-1. */
  readonly protocols: readonly string[];
  /** Code points of `supported_versions`, such as 0x0304 for TLS 1.3; the legacy version alone if there are none. */
  readonly versions: readonly number[];
  /** Code points of `signature_algorithms`, such as 0x0403 for ecdsa_secp256r1_sha256; the first MAX_SIGNATURE_SCHEMES. */
  readonly signatures: readonly number[];
  /** The same of `signature_algorithms_cert`, which are for the certificates' own signatures; none if it is not there. */
  readonly certificateSignatures: readonly number[];
  /** Code points of `supported_groups`, such as 23 for secp256r1; the first MAX_SIGNATURE_SCHEMES. */
  readonly groups: readonly number[];
  /** Whether the client speaks TLS 1.3: it names the version, and a suite of it. */
  readonly isTls13: boolean;
  /** Whether a suite is among those offered that goes with a certificate of ECDSA in the version that it will be. */
  readonly allowsEcdsa: boolean;
  /** The same for RSA. */
  readonly allowsRsa: boolean;
}

/**
 * Reads the body of a ClientHello, `bytes[from, to)`, by RFC 8446 §4.1.2.
 * @returns null if a length does not fit, or an extension comes twice
 */
export function readClientHello(bytes: Uint8Array, from: number, to: number): ClientHello | null {
  const body = new Cursor(bytes, from, to);
  const legacyVersion = body.number(2);
  body.skip(RANDOM_BYTES);
  const session = body.vector(1);
  const ciphers = body.vector(2);
  const compressions = body.vector(1);
  if (body.isBroken || session.left > MAX_SESSION_ID_BYTES) return null;
  if (ciphers.left < 2 || ciphers.left % 2 !== 0 || compressions.left < 1) return null;
  const suites = readSuites(ciphers);
  const none = { signatures: [], certificateSignatures: [], groups: [] };
  const found: ReadExtensions = { serverName: "", protocols: NO_NAMES, versions: [legacyVersion], ...none };
  // TLS 1.2 lets a client leave the extensions out. RFC 5246 §7.4.1.2.
  if (body.left === 0) return withSuites(found, suites);
  const extensions = body.vector(2);
  if (body.isBroken || body.left > 0) return null;
  return readExtensions(extensions, found) ? withSuites(found, suites) : null;
}

/** A suite of TLS 1.3 goes with any certificate, if the client names that version as well. */
function withSuites(found: ReadExtensions, suites: Suites): ClientHello {
  const isTls13 = suites.tls13 && found.versions.includes(TLS13);
  return { ...found, isTls13, allowsEcdsa: isTls13 || suites.ecdsa, allowsRsa: isTls13 || suites.rsa };
}

interface Suites {
  tls13: boolean;
  ecdsa: boolean;
  rsa: boolean;
}

interface ReadExtensions {
  serverName: string;
  protocols: readonly string[];
  versions: readonly number[];
  signatures: readonly number[];
  certificateSignatures: readonly number[];
  groups: readonly number[];
}

function readSuites(ciphers: Cursor): Suites {
  const found = { tls13: false, ecdsa: false, rsa: false };
  while (ciphers.left > 0) {
    const suite = ciphers.number(2);
    if (suite >> 8 === TLS13_SUITES) found.tls13 = true;
    else if (ECDSA_SUITES.includes(suite)) found.ecdsa = true;
    else if (RSA_SUITES.includes(suite)) found.rsa = true;
  }
  return found;
}

function readExtensions(extensions: Cursor, found: ReadExtensions): boolean {
  const seen = new Set<number>();
  while (extensions.left > 0) {
    const type = extensions.number(2);
    const data = extensions.vector(2);
    // RFC 8446 §4.2: not more than one extension of a type.
    if (extensions.isBroken || seen.has(type)) return false;
    seen.add(type);
    let isSound = true;
    if (type === SERVER_NAME) isSound = readServerName(data, found);
    else if (type === APPLICATION_PROTOCOLS) isSound = readProtocols(data, found);
    else if (type === SUPPORTED_VERSIONS) isSound = readVersions(data, found);
    else if (CODE_POINTS.has(type)) isSound = readCodePoints(data, found, CODE_POINTS.get(type)!);
    if (!isSound) return false;
  }
  return true;
}

/** RFC 6066 §3: a list, with one name of each type at most; the one type there has ever been is the host name. */
function readServerName(data: Cursor, found: ReadExtensions): boolean {
  const list = data.vector(2);
  if (data.isBroken || data.left > 0 || list.left === 0) return false;
  let hasName = false;
  while (list.left > 0) {
    const type = list.number(1);
    const name = list.vector(2);
    if (list.isBroken || name.left === 0) return false;
    if (type !== HOST_NAME) continue;
    if (hasName) return false;
    hasName = true;
    found.serverName = name.hostName();
  }
  return true;
}

/** RFC 7301 §3.1: names of 1 to 255 bytes. */
function readProtocols(data: Cursor, found: ReadExtensions): boolean {
  const list = data.vector(2);
  if (data.isBroken || data.left > 0 || list.left === 0) return false;
  const names: string[] = [];
  while (list.left > 0) {
    const name = list.vector(1);
    if (list.isBroken || name.left === 0) return false;
    if (names.length < MAX_ALPN_NAMES) names.push(name.latin1());
  }
  found.protocols = names;
  return true;
}

/** RFC 8446 §4.2.1. */
function readVersions(data: Cursor, found: ReadExtensions): boolean {
  const list = data.vector(1);
  if (data.isBroken || data.left > 0 || list.left === 0 || list.left % 2 !== 0) return false;
  const versions: number[] = [];
  while (list.left > 0) versions.push(list.number(2));
  found.versions = versions;
  return true;
}

/** RFC 8446 §4.2.3, §4.2.7. */
function readCodePoints(data: Cursor, found: ReadExtensions, name: CodePoints): boolean {
  const list = data.vector(2);
  if (data.isBroken || data.left > 0 || list.left === 0 || list.left % 2 !== 0) return false;
  const codes: number[] = [];
  while (list.left > 0 && codes.length < MAX_SIGNATURE_SCHEMES) codes.push(list.number(2));
  found[name] = codes;
  return true;
}

/** Reads numbers and length-prefixed vectors; past its end it gives nothing and is broken from then on. RFC 8446 §3. */
class Cursor {
  isBroken = false;
  private readonly bytes: Uint8Array;
  private at: number;
  private readonly to: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.bytes = bytes;
    this.at = from;
    this.to = to;
  }

  /** Bytes that have not been read. */
  get left(): number {
    return this.to - this.at;
  }

  skip(count: number): void {
    if (count > this.left) this.isBroken = true;
    this.at = Math.min(this.at + count, this.to);
  }

  /** A number of `size` bytes, 1 or 2. */
  number(size: number): number {
    const { at } = this;
    this.skip(size);
    if (this.isBroken) return 0;
    return size === 1 ? this.bytes[at]! : (this.bytes[at]! << 8) | this.bytes[at + 1]!;
  }

  /** A vector whose length is before it in `size` bytes. */
  vector(size: number): Cursor {
    const length = this.number(size);
    const from = this.at;
    this.skip(length);
    return new Cursor(this.bytes, from, this.at);
  }

  latin1(): string {
    return String.fromCharCode(...this.bytes.subarray(this.at, this.to));
  }

  /** The rest as a host name in lower case; "" if it is none. */
  hostName(): string {
    // RFC 6066 §3 wants no dot at the end; some clients send it.
    const to = this.bytes[this.to - 1] === DOT ? this.to - 1 : this.to;
    if (to - this.at > MAX_NAME_BYTES) return "";
    let name = "";
    for (let i = this.at; i < to; i++) {
      const byte = LOWER[this.bytes[i]!]!;
      if (!isNameByte(byte)) return "";
      name += String.fromCharCode(byte);
    }
    return name;
  }
}

/** Lower-case letters, digits, hyphen, dot, and the underscore that real names have. */
function isNameByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === DOT || byte === 0x5f
  );
}

const NO_NAMES: readonly string[] = [];
const RANDOM_BYTES = 32;
const MAX_SESSION_ID_BYTES = 32;
const MAX_NAME_BYTES = 253;
const DOT = 0x2e;
const HOST_NAME = 0;
const SERVER_NAME = 0;
const APPLICATION_PROTOCOLS = 16;

type CodePoints = "signatures" | "certificateSignatures" | "groups";

const CODE_POINTS: ReadonlyMap<number, CodePoints> = new Map([
  [10, "groups"],
  [13, "signatures"],
  [50, "certificateSignatures"],
]);
const SUPPORTED_VERSIONS = 43;
/** High byte of the suites of TLS 1.3. */
const TLS13_SUITES = 0x13;
const TLS13 = 0x0304;
/** ECDHE with ECDSA: AES in GCM, ChaCha20; the same with RSA. */
const ECDSA_SUITES: readonly number[] = [0xc02b, 0xc02c, 0xcca9];
const RSA_SUITES: readonly number[] = [0xc02f, 0xc030, 0xcca8];
