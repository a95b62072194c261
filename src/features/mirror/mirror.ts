import { Fault } from "../../core/fault.ts";
import type { TimerNode, TimerWheel } from "../../core/timer-wheel.ts";
import type { MirrorCount } from "../../memory/counter-rows.ts";
import type { Exchange, Handler, IdleExchangePorts, Pipeline } from "../../message/exchange.ts";
import { GivenBody } from "../../message/given-body.ts";
import type { NowMs } from "../../message/ports.ts";
import { Framing, type RequestHead } from "../../message/request-head.ts";
import { forwardedCopy, UnattendedSink } from "../../message/unattended.ts";
import { type Comparison, MAX_COMPARED_BYTES, type MirrorDifference, ResponseDigest } from "./comparison.ts";
import type { MirrorChoice } from "./mirror-choice.ts";

/** Largest request body that is mirrored. */
export const MAX_MIRRORED_BODY_BYTES = 65_536;

/** Requests of a worker that are copied, or under way to a mirror, at a time. */
const MAX_MIRRORED_REQUESTS = 256;

/** A mirror, as its route describes it. */
export interface MirrorSettings {
  /** The route's label. */
  readonly route: string;
  /** The mirror's, in logs. */
  readonly upstream: string;
  /** The part of the requests that is mirrored, above 0 and up to 1. */
  readonly share: number;
  /** Whether responses are compared. */
  readonly compares: boolean;
}

/** Who learns what becomes of mirrored requests. */
export interface MirrorListener {
  onMirrored(route: string, what: MirrorCount): void;
  onMirrorDiffers(settings: MirrorSettings, requestId: string, difference: MirrorDifference): void;
}

/** What all mirrors of one worker share. */
export interface MirrorHandlerPorts {
  readonly idle: IdleExchangePorts;
  readonly listener: MirrorListener;
  readonly wheel: TimerWheel;
  readonly turn: NowMs;
  /** Places of requests that are copied or under way to a mirror. */
  readonly places: { taken: number };
  /** A number from 0 up to 1. */
  random(): number;
  onException(error: unknown): void;
}

/** Why a request is not one to be copied, as its head says; "" if it is. */
export function whyNotMirrored({ framing, contentLength, upgrade }: RequestHead): string {
  if (upgrade) return "it asks for an upgrade";
  const isLong = framing === Framing.Length && contentLength > MAX_MIRRORED_BODY_BYTES;
  return isLong ? `its body is longer than ${MAX_MIRRORED_BODY_BYTES} bytes` : "";
}

/** Sends copies of one route's requests to its mirror. docs/upstreams.md#mirroring */
export class Mirror {
  readonly settings: MirrorSettings;
  private readonly choice: MirrorChoice;
  private readonly handler: Handler;
  private readonly pipeline: Pipeline;
  private readonly services: MirrorHandlerPorts;

  /**
   * @param handler sends to what `choice` chooses
   * @param pipeline for copies: without phases, with the taps that an exchange under way upstream needs at its end
   */
  constructor(
    settings: MirrorSettings,
    choice: MirrorChoice,
    handler: Handler,
    pipeline: Pipeline,
    services: MirrorHandlerPorts,
  ) {
    this.settings = settings;
    this.choice = choice;
    this.handler = handler;
    this.pipeline = pipeline;
    this.services = services;
  }

  /** Whether a request is to be mirrored; a request too long, or beyond the places, counts as skipped. */
  wants({ request }: Exchange): boolean {
    const { share } = this.settings;
    if (share < 1 && this.services.random() >= share) return false;
    if (whyNotMirrored(request) === "" && this.hasPlace() && !this.choice.isOut()) return true;
    this.skipped();
    return false;
  }

  /** @returns false where too many requests are mirrored now */
  takePlace(): boolean {
    if (!this.hasPlace()) return false;
    this.services.places.taken++;
    return true;
  }

  leavePlace(): void {
    this.services.places.taken--;
  }

  /** @returns false */
  skipped(): boolean {
    this.services.listener.onMirrored(this.settings.route, "skipped");
    return false;
  }

  limit(timer: TimerNode, ms: number): void {
    this.services.wheel.arm(timer, this.services.turn.nowMs + ms);
  }

  unlimit(timer: TimerNode): void {
    this.services.wheel.remove(timer);
  }

  differs(requestId: string, difference: MirrorDifference): void {
    const { listener } = this.services;
    listener.onMirrored(this.settings.route, "different");
    listener.onMirrorDiffers(this.settings, requestId, difference);
  }

  /** A copy of a request, without its body: as it goes to its target now, under the same id. */
  copyOf(ex: Exchange): Exchange {
    const copy = forwardedCopy(ex, this.services.idle);
    copy.request.expectContinue = false;
    return copy;
  }

  /** Sends a copy, whose place is left when it is over. @param body whole; null if there is none */
  send(copy: Exchange, body: Buffer | null, comparison: Comparison | null): void {
    const { idle, onException } = this.services;
    const sink = new MirrorSink(comparison, (fault) => this.onOver(fault));
    copy.open(sink, idle.flow, copy.client, this.pipeline);
    const given = body === null ? null : new GivenBody(body);
    given?.replace(copy);
    try {
      this.handler.handle(copy);
      if (copy.request.hasBody()) given?.deliver(copy);
    } catch (error) {
      copy.sink.abort(copy, Fault.InternalError);
      onException(error);
    }
  }

  private hasPlace(): boolean {
    return this.services.places.taken < MAX_MIRRORED_REQUESTS;
  }

  private onOver(fault: Fault): void {
    this.leavePlace();
    if (fault === Fault.None) return;
    // It has not been sent: the mirror is left out, or the request goes round in a loop.
    if (fault === Fault.NoHealthyTarget || fault === Fault.LoopDetected) this.skipped();
    else this.services.listener.onMirrored(this.settings.route, "failed");
  }
}

/** Takes the mirror's response: what is compared of it, and then no more. */
class MirrorSink extends UnattendedSink {
  private readonly comparison: Comparison | null;
  private readonly digest: ResponseDigest | null;
  private taken = 0;

  constructor(comparison: Comparison | null, done: (fault: Fault) => void) {
    super(done);
    this.comparison = comparison;
    this.digest = comparison === null ? null : new ResponseDigest();
  }

  override head(ex: Exchange): void {
    if (this.digest !== null) this.digest.status = ex.response.status;
    super.head(ex);
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    this.digest?.add(bytes, from, to);
    this.taken += to - from;
    if (this.taken > MAX_COMPARED_BYTES) {
      ex.source.onCancelled(ex);
      this.end(ex);
    }
    return true;
  }

  override end(ex: Exchange): void {
    const isComplete = ex.fault === Fault.None && this.digest !== null && this.digest.status > 0;
    super.end(ex);
    if (isComplete) this.comparison!.complete(this.digest!, true);
  }
}
