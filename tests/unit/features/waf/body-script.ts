// A request body on its way through the phase that inspects it, piece by piece.
import type { Fault } from "../../../../src/core/fault.ts";
import type { WafIncident } from "../../../../src/features/waf/incident.ts";
import { Waf, WafBodyPhase } from "../../../../src/features/waf/waf.ts";
import type { AddressSet, WafSettings } from "../../../../src/features/waf/waf-scorer.ts";
import type { BodyBudget } from "../../../../src/memory/body-budget.ts";
import { type BodySink, type Exchange, type Phase, Pipeline } from "../../../../src/message/exchange.ts";
import { HeaderId } from "../../../../src/message/header-block.ts";
import { IDLE_PORTS as IDLE } from "../../../../src/message/idle-ports.ts";
import { Framing } from "../../../../src/message/request-head.ts";
import { bodyRoute, budgetOf, chunkedExchange, phase, type RouteFacts } from "../ingest/body-route.ts";
import { NO_ROUTES } from "./vector-request.ts";
import { DETACHED, ENFORCE } from "./waf-settings.ts";

/** What a body script may say. */
export interface BodyScriptFacts {
  readonly type?: string;
  readonly settings?: Partial<WafSettings>;
  readonly allowedIps?: AddressSet;
  readonly budget?: BodyBudget;
  readonly route?: RouteFacts;
  /** Phases between the inspection and the taker. */
  readonly behind?: readonly Phase[];
  /** Whether the taker stops the flow after its n-th piece. */
  readonly pauses?: readonly boolean[];
}

/** Plays a connection, with the phase and somebody who takes the body behind it. */
export class BodyScript {
  readonly ex: Exchange;
  readonly budget: BodyBudget;
  readonly faults: Fault[] = [];
  readonly incidents: WafIncident[] = [];
  readonly pieces: Buffer[] = [];
  /** What happened, in order. */
  readonly events: string[] = [];
  ends = 0;
  hasArrived = false;
  isOver = false;
  isTakerPaused = false;
  isClientPaused = false;
  private readonly pauses: readonly boolean[];

  constructor(facts: BodyScriptFacts = {}) {
    this.ex = chunkedExchange(bodyRoute(facts.route));
    this.budget = facts.budget ?? budgetOf(64);
    this.pauses = facts.pauses ?? [];
    const listener = {
      onInspected() {},
      onIncident: (incident: WafIncident) => void this.incidents.push(incident),
      onBudgetExhausted() {},
      onOverLimit() {},
    };
    const settings = { ...ENFORCE, ...facts.settings };
    const waf = new Waf(settings, facts.allowedIps ?? DETACHED, NO_ROUTES, listener, { nowMs: 1 });
    const inspection = new WafBodyPhase(waf, this.budget);
    const last = phase((ex) => {
      this.hasArrived = true;
      this.events.push("arrived");
      ex.body = this.taker;
    });
    this.ex.pipeline = new Pipeline([inspection, ...(facts.behind ?? []), last], [], []);
    this.ex.flow = {
      pauseBody: () => {
        this.isClientPaused = true;
      },
      resumeBody: () => {
        this.isClientPaused = false;
      },
    };
    this.ex.sink = {
      ...IDLE.sink,
      wantBody: () => void this.events.push("wanted"),
      abort: (_ex, fault) => {
        this.faults.push(fault);
        this.over();
      },
    };
    setType(this.ex, facts.type ?? "application/json");
  }

  /** Sends the head and then the pieces, waiting where the flow is stopped; then the end. */
  play(pieces: readonly (string | Uint8Array)[]): this {
    this.start();
    for (const piece of pieces) this.send(piece);
    this.end();
    return this;
  }

  start(): void {
    this.ex.pipeline.start(this.ex);
  }

  send(piece: string | Uint8Array, isLast = false): void {
    this.wake();
    if (this.isOver) return;
    const bytes = Buffer.from(piece as string, "latin1");
    // Other bytes stand around those of the body.
    const around = Buffer.concat([Buffer.from("<<"), bytes, Buffer.from(">>")]);
    this.ex.bodyDone = isLast;
    this.ex.body.onBody(this.ex, around, 2, 2 + bytes.length);
  }

  end(): void {
    this.wake();
    if (this.isOver) return;
    this.ex.bodyDone = true;
    this.ex.body.onBodyEnd(this.ex);
    this.wake();
  }

  /** The taker takes again until it takes no more. */
  wake(): void {
    for (let i = 0; i < 1000 && (this.isTakerPaused || this.isClientPaused) && !this.isOver; i++) {
      this.isTakerPaused = false;
      this.ex.flow.resumeBody(this.ex);
    }
  }

  over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.ex.release();
    this.ex.reset(IDLE);
  }

  get text(): string {
    return Buffer.concat(this.pieces).toString("latin1");
  }

  private readonly taker: BodySink = {
    onBody: (ex, bytes, from, to) => {
      if (this.isTakerPaused) throw new Error("a piece came although the flow was stopped");
      this.pieces.push(Buffer.from(bytes.subarray(from, to)));
      if (this.pauses[this.pieces.length - 1] !== true) return;
      this.isTakerPaused = true;
      ex.flow.pauseBody(ex);
    },
    onBodyEnd: () => {
      if (this.isTakerPaused) throw new Error("the end came although the flow was stopped");
      this.ends++;
    },
    onBodyFault: () => void this.events.push("fault"),
  };
}

function setType(ex: Exchange, type: string): void {
  const line = `Content-Type: ${type}`;
  const { request } = ex;
  request.reset(Buffer.from(`POST /x HTTP/1.1\r\n${line}\r\n`, "latin1"));
  request.headers.push(HeaderId.ContentType, 18, 30, 32, 18 + line.length);
  request.framing = Framing.Chunked;
}
