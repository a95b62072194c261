/** What a gateway does with a vector when all is well. docs/tools.md#multihop */
export const enum Requirement {
  /** 400, a stream or connection error, and over HTTP/1.1 the end of the connection. */
  Refused,
  /** 200 from the origin, which has been given exactly this request. */
  Forwarded,
}

/** What a probe is addressed to. */
export interface ProbeAddress {
  /** Of the route, such as `/node`. */
  readonly prefix: string;
  /** For Host and `:authority`. */
  readonly authority: string;
  /** Marks the probe's own request, so that the origin's view can be told apart: TOKEN_FIELD. */
  readonly token: string;
}

/** An HTTP/2 request as it goes into frames: nothing is checked, completed or put in order. */
export interface H2Request {
  readonly fields: readonly (readonly [string, string])[];
  /** DATA; null ends the stream with its head. */
  readonly body: Buffer | null;
}

/** One input that belongs to a vector. */
export type Probe =
  | {
      readonly protocol: "HTTP/1.1";
      readonly name: string;
      /** All bytes, sent at once on a fresh connection. */
      bytes(address: ProbeAddress): Buffer;
    }
  | {
      readonly protocol: "HTTP/2";
      readonly name: string;
      request(address: ProbeAddress): H2Request;
    };

/** An attack or a benign request. docs/tools.md#multihop */
export interface Vector {
  /** Such as `VECTOR-04`. */
  readonly id: string;
  readonly name: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2";
  readonly requirement: Requirement;
  /** The requirement in words. */
  readonly expected: string;
  readonly probes: readonly Probe[];
  /** For forwarded vectors: the request that the origin must be given. */
  readonly forwards?: ForwardedRequest;
}

/** A request that is in order, and must reach the origin unchanged. */
interface ForwardedRequest {
  readonly method: string;
  /** Without the prefix. */
  readonly path: string;
  /** What the origin must be given as the body. */
  body(token: string): Buffer;
  /** Whether the origin's response says which headers it was given. */
  readonly isEcho: boolean;
}

/** Every request of the tool carries this field, with a value that is never used twice. */
export const TOKEN_FIELD = "X-Multihop-Token";
/** Marks a request that only smuggling can bring to an origin. */
export const SMUGGLED_FIELD = "X-Multihop-Smuggled";
