/** Parts of a ClientHello to be built, each as it stands on the wire where it is given as bytes. */
export interface HelloParts {
  readonly version?: number;
  readonly session?: Uint8Array;
  readonly ciphers?: Uint8Array;
  readonly compressions?: Uint8Array;
  /** Type and content of each extension; null leaves the whole section out. */
  readonly extensions?: readonly (readonly [type: number, data: Uint8Array])[] | null;
}

/** A ClientHello message with its header. RFC 8446 §4.1.2. */
export function helloMessage(parts: HelloParts = {}): Buffer {
  const {
    version = 0x0303,
    session = Buffer.alloc(32, 9),
    ciphers = Buffer.from("130113021303c02bc02f", "hex"),
  } = parts;
  const { compressions = Buffer.of(0), extensions = [] } = parts;
  const body = Buffer.concat([
    Buffer.of(version >> 8, version & 255),
    Buffer.alloc(32, 5),
    vector(1, session),
    vector(2, ciphers),
    vector(1, compressions),
    extensions === null ? Buffer.alloc(0) : vector(2, Buffer.concat(extensions.map(extension))),
  ]);
  return message(1, body);
}

/** A handshake message. RFC 8446 §4. */
export function message(type: number, body: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(type), vector(3, body)]);
}

/** Bytes cut into handshake records of at most so many bytes each. RFC 8446 §5.1. */
export function records(bytes: Uint8Array, size = 16384): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) {
    parts.push(Buffer.concat([Buffer.of(22, 3, 1), vector(2, bytes.subarray(at, at + size))]));
  }
  return Buffer.concat(parts);
}

/** `server_name` with these entries. RFC 6066 §3. */
export function serverName(...names: (string | readonly [type: number, name: Uint8Array])[]): [number, Buffer] {
  const entries = names.map((each) => {
    const [type, name] = typeof each === "string" ? [0, Buffer.from(each, "latin1")] : each;
    return Buffer.concat([Buffer.of(type), vector(2, name)]);
  });
  return [0, vector(2, Buffer.concat(entries))];
}

/** `application_layer_protocol_negotiation`. RFC 7301 §3.1. */
export function protocolNames(...names: string[]): [number, Buffer] {
  return [16, vector(2, Buffer.concat(names.map((name) => vector(1, Buffer.from(name, "latin1")))))];
}

/** `supported_versions`. RFC 8446 §4.2.1. */
export function supportedVersions(...versions: number[]): [number, Buffer] {
  return [43, vector(1, Buffer.concat(versions.map((one) => Buffer.of(one >> 8, one & 255))))];
}

/** `signature_algorithms`. RFC 8446 §4.2.3. */
export function signatureSchemes(...schemes: number[]): [number, Buffer] {
  return [13, vector(2, Buffer.concat(schemes.map((one) => Buffer.of(one >> 8, one & 255))))];
}

/** Bytes with their length before them, in `size` bytes. */
export function vector(size: number, bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(size);
  length.writeUIntBE(bytes.length, 0, size);
  return Buffer.concat([length, bytes]);
}

function extension([type, data]: readonly [number, Uint8Array]): Buffer {
  return Buffer.concat([Buffer.of(type >> 8, type & 255), vector(2, data)]);
}
