import type { SpoolListener } from "../../../../src/features/ingest/buffered-body.ts";
import { BODY_BLOCK_BYTES, BodyBudget, createBodyBudget } from "../../../../src/memory/body-budget.ts";
import { Exchange, type Handler, type Phase, type Route, Verdict } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../../src/message/idle-ports.ts";
import { Framing, METHOD_COUNT } from "../../../../src/message/request-head.ts";
import { ChunkedMode, RouteKind, RouteOf } from "../../../../src/message/route.ts";

/** What a body test says of its route. */
export interface RouteFacts {
  readonly kind?: RouteKind;
  readonly mode?: ChunkedMode;
  readonly maxBodyBytes?: number;
}

/** A route for any method; its handler is never called. */
export function bodyRoute(facts: RouteFacts = {}): Route {
  const handler: Handler = { name: "none", handle: () => Verdict.Done };
  const init = {
    kind: facts.kind ?? RouteKind.Upstream,
    label: "/up",
    path: "/up",
    exact: false,
    methods: [],
    hosts: [],
    stripPrefix: true,
    chunkedMode: facts.mode ?? ChunkedMode.Normalize,
    maxBodyBytes: facts.maxBodyBytes ?? 0,
    handler,
  };
  return new RouteOf(init, 0, new Uint8Array(METHOD_COUNT).fill(1), "");
}

/** An exchange whose body comes in chunks. */
export function chunkedExchange(route: Route): Exchange {
  const ex = new Exchange(IDLE);
  ex.route = route;
  ex.request.framing = Framing.Chunked;
  return ex;
}

/** A budget of so many blocks in memory, all of them for any client, that nobody else draws on; there is room on the disk. */
export function budgetOf(blocks: number): BodyBudget {
  const limits = { memoryBytes: blocks * BODY_BLOCK_BYTES, share: 1, diskBytes: 2 ** 30 };
  return new BodyBudget(createBodyBudget(1, [1, 2]), 0, { nowMs: 1 }, limits);
}

/** Bytes in memory that are taken of a budget. */
export function takenOf(budget: BodyBudget): number {
  budget.tick();
  return budget.memory.ownBytes;
}

/** For tests in which the disk never fails. */
export const SILENT: SpoolListener = { onSpoolFailed() {} };

/** A last phase. */
export function phase(run: (ex: Exchange) => void): Phase {
  return {
    name: "last",
    run(ex) {
      run(ex);
      return Verdict.Done;
    },
  };
}
