// What compression asks of its worker, and what the responses of one route share.
import type { TimerWheel } from "../../core/timer-wheel.ts";
import type { IdleExchangePorts } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import type { Coding } from "../../proto/semantics/accept-encoding.ts";
import type { Codecs } from "./codecs.ts";
import type { CompressionPolicy } from "./compression-policy.ts";
import type { PackedFiles } from "./packed-files.ts";

/** What compression asks of its worker. */
export interface CompressionPorts {
  readonly codecs: Codecs;
  readonly packed: PackedFiles;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  readonly idle: IdleExchangePorts;
  /** Runs what is no event of a socket as a turn of its own, with what it writes flushed after it. */
  inTurn(work: () => void): void;
  /** Receives what escaped from such a turn. */
  onException(error: unknown): void;
}

/** A prebuilt response as a client gets it. */
export interface FixedForm {
  readonly response: PrebuiltResponse;
  readonly isCompressed: boolean;
}

/** Prebuilt responses in each coding. */
interface FixedFormSource {
  /** The response in a coding; the same one if nothing is to be done. */
  of(reply: PrebuiltResponse, coding: Coding): FixedForm;
}

/** What the responses of one route share. */
export interface CompressingSinkPorts {
  readonly policy: CompressionPolicy;
  readonly services: CompressionPorts;
  readonly fixed: FixedFormSource;
}
