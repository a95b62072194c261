import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import type { RequestInput } from "./request-input.ts";

/** Turns what REST says into messages of one gRPC method, and its messages into JSON. */
export interface MethodCodec {
  readonly contentType: string;
  /** Whether the method answers with a stream; null if that is not known. */
  readonly isStreaming: boolean | null;
  /** Whether the method takes a stream; null if that is not known. */
  readonly takesStream: boolean | null;
  /** The request message. @throws BadInput if the input does not fit */
  encode(input: RequestInput): Uint8Array;
  /** The JSON text of a response's message. @throws UndecodableResponse */
  decode(message: Uint8Array): string;
  /** In place of JSON, if the response is a body as it is (google.api.HttpBody). @throws UndecodableResponse */
  readonly bytesOf?: (message: Uint8Array) => BytesResponse;
  /** The `details` of a status as JSON texts. */
  details(status: GrpcStatus): readonly string[];
}

/** A body with its media type. */
export interface BytesResponse {
  readonly contentType: string;
  readonly data: Uint8Array;
}

/** A response's message is none of the method. */
export class UndecodableResponse extends Error {}
