import type { Fault } from "../core/fault.ts";
import type { FaultDetail } from "../core/fault-detail.ts";

/** How a call ended. */
export interface GrpcStatus {
  readonly code: number;
  /** Percent-decoded. */
  readonly message: string;
  /** `grpc-status-details-bin`, decoded: a serialised google.rpc.Status; null if there is none. */
  readonly details: Uint8Array | null;
}

/** Header fields of a call: lower-case names, one entry a field. */
export type GrpcMetadata = readonly (readonly [name: string, value: string])[];

/** One call, with one request message or a stream of them. */
export interface GrpcRequest {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** `application/grpc`, or with a suffix such as `+json`. */
  readonly contentType: string;
  readonly metadata: GrpcMetadata;
  /** Not framed yet; null for a stream, whose messages are given to `send`. */
  readonly message: Uint8Array | null;
  /** The rest of the deadline, in milliseconds. */
  readonly timeoutMs: number;
}

/** Who is notified of a call. After `onEnd` or `onFailure` nothing more comes. */
export interface GrpcListener {
  /** The first fields of the response. */
  onMetadata(metadata: GrpcMetadata): void;
  /** A message of the response; its bytes stay unchanged. */
  onMessage(message: Uint8Array): void;
  /** The upstream has said how the call ended. @param trailers the fields after the messages, the status among them */
  onEnd(status: GrpcStatus, trailers: GrpcMetadata): void;
  /** There is no response, or no whole one. @param detail why, if the origin is at fault */
  onFailure(fault: Fault, detail?: FaultDetail): void;
  /** After `send` has returned false: the upstream takes messages again. For calls that stream. */
  onSendable?(): void;
}

/** A call under way. */
export interface GrpcCall {
  /**
   * Sends a further message of a stream of requests. Nothing is lost if the upstream does not take it yet.
   * @returns false when the caller should hold until `onSendable`
   */
  send(message: Uint8Array): boolean;
  /** The stream of requests is complete. */
  endRequests(): void;
  /** No message comes after this, except messages in the hand-over. */
  pause(): void;
  resume(): void;
  /**
   * Gives the call up: the upstream learns of it, the listener does not.
   * @param isOverdue whether its deadline is over: a connection on which nothing came meanwhile is left for a new one
   */
  cancel(isOverdue?: boolean): void;
}

/** One origin that speaks gRPC. */
export interface GrpcUpstream {
  /** The origin, as logs and metrics name it. */
  readonly label: string;
  call(request: GrpcRequest, listener: GrpcListener): GrpcCall;
}
