import type { ConfigPosition } from "../../config/config-fault.ts";
import type { OriginConfig } from "../../config/origin.ts";
import type { PathPattern } from "../../core/path-pattern.ts";
import type { FiledRule } from "./http-rule-file.ts";

/** A file with descriptors, and its content. */
export interface DescriptorSetConfig {
  /** Absolute. */
  readonly file: string;
  /** Read with the configuration, so that all workers have the same. */
  readonly base64: string;
}

/** What `auto` needs to make routes of what the upstream tells of itself. docs/transcoder.md#auto-by-reflection */
export interface ReflectedAuto {
  readonly upstream: OriginConfig;
  readonly rules: readonly FiledRule[];
  readonly services: readonly string[];
  readonly exclude: readonly string[];
  readonly timeoutMs: number;
  /** Of `auto`. */
  readonly position: ConfigPosition;
}

/** A REST path that is answered by a gRPC method. docs/transcoder.md#routes */
export interface TranscodedRouteConfig {
  readonly position: ConfigPosition;
  /** Upper-case. */
  readonly httpMethod: string;
  /** As written, such as `/v1/users/:id`. */
  readonly httpPath: string;
  readonly pattern: PathPattern;
  /** `/package.Service/Method`. */
  readonly grpcMethod: string;
  readonly upstream: OriginConfig;
  /** From path parameter to request field. */
  readonly fieldMappings: readonly FieldMapping[];
  /** FileDescriptorSet: the route's own, else the section's; "" asks the upstream by reflection. */
  readonly descriptorSet: string;
  readonly timeoutMs: number;
  /** `*`: the request's body is the message; else the field that it is, or "" if it is not looked at. */
  readonly body: string;
  /** The field of the response that the response is; "" for the whole of it. */
  readonly responseBody: string;
  /** Whether the body is a google.api.HttpBody, which takes any bytes. */
  readonly takesBytes: boolean;
  /** Whether the method is known to take a stream, so that WebSockets lead to it whatever `httpMethod` is. */
  readonly takesStream: boolean;
  /** Whether a `google.api.http` option asked for it. */
  readonly isAuto: boolean;
}

/** Which field of the request message a parameter of the path fills. */
export interface FieldMapping {
  readonly param: string;
  readonly field: string;
}
