import { Fault } from "../../core/fault.ts";
import type { GrpcUpstream } from "../../message/grpc-upstream.ts";
import { type Reflected, Reflection } from "./reflection.ts";
import { type UpstreamReflectionPorts, upstreamReflection } from "./upstream-reflection.ts";

/** Milliseconds that reflection may take; then the call goes on without a schema. */
const REFLECTION_TIMEOUT_MS = 2000;
/** Milliseconds that "this upstream has no reflection" is believed. */
const NO_SCHEMA_MS = 60_000;
/** Milliseconds before reflection is tried again after it failed in any other way. */
const SCHEMA_RETRY_MS = 1000;
/** Requests that wait for the schema of one service; more get 503. */
const MAX_SCHEMA_WAITERS = 1000;

/** Who wants to know what an upstream tells of a service. */
export interface SchemaWaiter {
  onSchema(result: Reflected): void;
}

interface Entry {
  /** null while the upstream is being asked. */
  result: Reflected | null;
  /** When it was found out, on the turn's clock. */
  sinceMs: number;
  waiters: SchemaWaiter[];
}

/**
 * What one upstream has told of its services by reflection. The first caller waits for the response, and later ones with it;
 * it is kept until a call is answered with UNIMPLEMENTED. docs/transcoder.md#schema
 */
export class ReflectedSchemas {
  private readonly upstream: GrpcUpstream;
  private readonly services: UpstreamReflectionPorts;
  private readonly entries: Map<string, Entry> = new Map();

  constructor(upstream: GrpcUpstream, services: UpstreamReflectionPorts) {
    this.upstream = upstream;
    this.services = services;
  }

  /**
   * The known facts of a service.
   * @param waiter is called later if nothing is known yet
   * @returns null if the waiter waits
   */
  lookUp(service: string, waiter: SchemaWaiter): Reflected | null {
    let entry = this.entries.get(service);
    if (entry === undefined || this.isStale(entry)) {
      entry = { result: null, sinceMs: 0, waiters: [] };
      this.entries.set(service, entry);
      this.ask(service, entry);
    }
    if (entry.result !== null) return entry.result;
    if (entry.waiters.length >= MAX_SCHEMA_WAITERS) return { kind: "fault", fault: Fault.BuffersFull };
    entry.waiters.push(waiter);
    return null;
  }

  /** The waiter has given up. */
  leave(service: string, waiter: SchemaWaiter): void {
    const entry = this.entries.get(service);
    if (entry !== undefined) entry.waiters = entry.waiters.filter((one) => one !== waiter);
  }

  /** A call was answered with UNIMPLEMENTED: the upstream may be another by now. */
  doubt(service: string): void {
    const entry = this.entries.get(service);
    if (entry === undefined || entry.result === null) return;
    if (this.services.turn.nowMs - entry.sinceMs > SCHEMA_RETRY_MS) this.entries.delete(service);
  }

  private isStale({ result, sinceMs }: Entry): boolean {
    if (result === null || result.kind === "schema") return false;
    const lasts = result.kind === "none" ? (result.lasting ? NO_SCHEMA_MS : SCHEMA_RETRY_MS) : 0;
    return this.services.turn.nowMs - sinceMs >= lasts;
  }

  private ask(service: string, entry: Entry): void {
    const settle = (result: Reflected): void => {
      entry.result = result;
      entry.sinceMs = this.services.turn.nowMs;
      const { waiters } = entry;
      entry.waiters = [];
      for (const waiter of waiters) waiter.onSchema(result);
    };
    const wish = { services: service, timeoutMs: REFLECTION_TIMEOUT_MS };
    new Reflection(upstreamReflection(this.upstream, this.services, REFLECTION_TIMEOUT_MS), wish, settle).start();
  }
}
