// What transcoded routes and their exchanges share.
import type { PathPattern } from "../../core/path-pattern.ts";
import type { TimerWheel } from "../../core/timer-wheel.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import type { NowMs } from "../../message/ports.ts";
import type { CodecSource } from "./codec-source.ts";
import type { LargeMessages } from "./large-messages.ts";

/** One transcoded route. */
export interface TranscodeSettings {
  /** Of the route, upper-case. */
  readonly httpMethod: string;
  readonly grpcMethod: string;
  readonly pattern: PathPattern;
  /** The request field of each path variable, if it is not the variable's own name. */
  readonly fields: ReadonlyMap<string, string>;
  /** From the whole request to the end of the response. */
  readonly timeoutMs: number;
  /** Whether the method takes the body as it is, whatever its type. */
  readonly takesBytes: boolean;
  /** Bytes that one message of a stream may have. */
  readonly maxMessageBytes: number;
}

/** What transcoding asks of its worker. */
export interface TranscodePorts {
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly bodies: BodyBudget;
  /** Whether a handshake for a WebSocket comes from a page that may use the gateway, or from no page. */
  readonly mayOpenSocket: (ex: Exchange) => boolean;
  /** Calls back in a later turn of the event loop. */
  readonly defer: (resume: () => void) => void;
  readonly requestIds: { assign(ex: Exchange): void };
  /** Transcodes what is large beside the event loop. */
  readonly large: LargeMessages;
  /** Counts what upstreams answer. */
  readonly tally: { upstreamAnswered(label: string, status: number, durationMs: number): void };
}

/** A transcoded route, as its exchanges see it. */
export interface TranscodedMethod {
  readonly settings: TranscodeSettings;
  readonly upstream: GrpcUpstream;
  readonly codecs: CodecSource;
  readonly services: TranscodePorts;
}
