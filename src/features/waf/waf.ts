import { Byte } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import { type Exchange, type MessageGate, type Phase, type TrailerGate, Verdict } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { streamsLines } from "../../message/line-stream.ts";
import type { NowMs } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import type { BodyProgress } from "./body/body-inspector.ts";
import { extraBytes } from "./body/content-codings.ts";
import { declaredTypes } from "./body/declared-types.ts";
import { wholeMessagesEnd } from "./body/grpc-messages.ts";
import { type BodyScorer, InspectedBody, InspectedMessages, type WholeMessages } from "./body/inspected-body.ts";
import type { RouteFacts } from "./detectors/path-traversal.ts";
import type { IncidentListener } from "./incident.ts";
import { StepBudget } from "./match/step-budget.ts";
import type { RuleSwitches } from "./rule-switches.ts";
import type { RuleFirewall } from "./seclang/rule-firewall.ts";
import { switchesOf, WafInspector } from "./waf-inspector.ts";
import { type AddressSet, WafScorer, type WafSettings } from "./waf-scorer.ts";

/** What the phases of the firewall work with. */
export interface Firewall {
  readonly settings: WafSettings;
  /** The inspector, which judges by the switches of this firewall until another one takes it: before each look at a request. */
  takeInspector(): WafInspector;
  readonly scorer: WafScorer;
  /** Clients that are not judged. */
  readonly allowedIps: AddressSet;
  readonly listener: IncidentListener;
  /** The rules of `waf.rules`; null if there are none. */
  readonly rules: RuleFirewall | null;
}

/** Makes the rules of `waf.rules`, where settings name any. */
export type MakeRules = (settings: WafSettings, switches: RuleSwitches) => RuleFirewall | null;

/**
 * The firewall of a configuration, made once a worker. One inspector serves all phases: what it found of a request is scored before
 * it looks at another, and what it knows of harmless values serves each.
 */
export class Waf implements Firewall {
  readonly settings: WafSettings;
  readonly scorer: WafScorer;
  readonly allowedIps: AddressSet;
  readonly listener: IncidentListener;
  readonly rules: RuleFirewall | null;
  private readonly inspector: WafInspector;
  private readonly switches: RuleSwitches;
  /** By which the inspector judges now. */
  private used: RuleSwitches;

  /**
   * @param allowedIps clients that the WAF lets pass
   * @param routes decides on relative paths
   */
  constructor(
    settings: WafSettings,
    allowedIps: AddressSet,
    routes: RouteFacts,
    listener: IncidentListener,
    clock: NowMs,
    makeRules: MakeRules = () => null,
  ) {
    this.settings = settings;
    const steps = new StepBudget();
    const onSpent = (): void => listener.onBudgetExhausted();
    this.inspector = new WafInspector(settings.disabledRules, routes, settings.exclusions, steps, onSpent, settings);
    this.scorer = new WafScorer(settings, listener, clock);
    this.allowedIps = allowedIps;
    this.listener = listener;
    this.switches = switchesOf(settings.disabledRules, settings.exclusions, settings);
    this.rules = makeRules(settings, this.switches);
    this.used = this.switches;
    this.inspector.findings.use(this.used);
  }

  takeInspector(): WafInspector {
    return this.inspectorWith(this.switches);
  }

  /** The same for a firewall that has no inspector of its own. */
  inspectorWith(switches: RuleSwitches): WafInspector {
    if (this.used !== switches) {
      this.used = switches;
      this.inspector.findings.use(switches);
    }
    return this.inspector;
  }
}

/**
 * The firewall of some routes: it has settings of its own and the inspector of another one, since what an inspector knows of
 * harmless values holds for all, and its memory is needed once.
 */
export class RouteFirewall implements Firewall {
  readonly settings: WafSettings;
  readonly scorer: WafScorer;
  readonly rules: RuleFirewall | null;
  private readonly base: Waf;
  private readonly switches: RuleSwitches;

  constructor(base: Waf, settings: WafSettings, clock: NowMs, makeRules: MakeRules = () => null) {
    this.base = base;
    this.settings = settings;
    this.scorer = new WafScorer(settings, base.listener, clock);
    this.switches = switchesOf(settings.disabledRules, settings.exclusions, settings);
    this.rules = makeRules(settings, this.switches);
  }

  takeInspector(): WafInspector {
    return this.base.inspectorWith(this.switches);
  }

  get allowedIps(): AddressSet {
    return this.base.allowedIps;
  }

  get listener(): IncidentListener {
    return this.base.listener;
  }
}

/**
 * Scores path, query and headers; from the threshold on the request is refused in enforce mode. Every request that scores
 * is reported. docs/waf.md#scores
 */
export class WafPhase implements Phase {
  static readonly NAME = "waf";
  readonly name: string = WafPhase.NAME;
  private readonly waf: Firewall;

  constructor(waf: Firewall) {
    this.waf = waf;
  }

  run(ex: Exchange): Verdict {
    const { scorer, allowedIps, listener, rules } = this.waf;
    const inspector = this.waf.takeInspector();
    listener.onInspected();
    if (rules !== null) {
      if (allowedIps.has(ex.clientIp)) return Verdict.Next;
      const fault = rules.judgeHead(ex);
      if (fault !== Fault.None) {
        ex.sink.abort(ex, fault);
        return Verdict.Done;
      }
      if (skipsOwn(ex)) return Verdict.Next;
      inspector.findings.overrides = ex.rules;
    } else if (inspector.findings.overrides !== null) inspector.findings.overrides = null;
    if (inspector.inspect(ex.request) === 0) return Verdict.Next;
    // Few requests score, so the client's address is looked up here and not before the inspection.
    if (allowedIps.has(ex.clientIp)) return Verdict.Next;
    return scorer.passes(ex, inspector.findings) ? Verdict.Next : Verdict.Done;
  }
}

/**
 * Scores the beginning of a body before any other part sees a byte of it. It runs after the limits and guards, so that no body is
 * asked for (Expect: 100-continue) that is refused anyway. `docs/security.md#bodies-and-the-firewall`
 */
export class WafBodyPhase implements Phase, BodyScorer, MessageGate {
  static readonly NAME = "wafBody";
  readonly name: string = WafBodyPhase.NAME;
  readonly needsBody = true;
  private readonly waf: Firewall;
  private readonly budget: BodyBudget;
  /** Whether bodies over the inspection limit are refused. */
  private readonly rejects: boolean;

  /** @param budget memory for bodies that come in pieces */
  constructor(waf: Firewall, budget: BodyBudget) {
    const { overLimit, mode } = waf.settings;
    this.waf = waf;
    this.budget = budget;
    this.rejects = overLimit === "reject" && mode === "enforce";
  }

  run(ex: Exchange): Verdict {
    // Only upstreams take a body; all others answer without, or check their few fields themselves.
    const { request } = ex;
    if (!request.hasBody()) return Verdict.Next;
    const { maxInspectBodyBytes } = this.waf.settings;
    if (maxInspectBodyBytes === 0 || !ex.route!.kind.takesBody) return this.passUnread(ex);
    if (this.waf.allowedIps.has(ex.clientIp)) return Verdict.Next;
    if (this.rejects && request.framing === Framing.Length && request.contentLength > maxInspectBodyBytes) {
      ex.sink.abort(ex, this.waf.scorer.refuseOverLimit(ex));
      return Verdict.Done;
    }
    // One byte more tells whether there is more.
    const heldBytes = maxInspectBodyBytes + (this.rejects ? 1 : extraBytes(request.headers));
    const whole = messagesOf(ex);
    const body =
      whole === null
        ? new InspectedBody(ex, heldBytes, this.budget, this)
        : new InspectedMessages(ex, heldBytes, this.budget, this, whole);
    ex.held = body;
    ex.body = body;
    ex.sink.wantBody(ex);
    return Verdict.Wait;
  }

  /** A body that is not inspected: rules that wait for it are asked without. */
  private passUnread(ex: Exchange): Verdict {
    const fault = this.waf.rules?.judgeBody(ex) ?? Fault.None;
    if (fault === Fault.None) return Verdict.Next;
    ex.sink.abort(ex, fault);
    return Verdict.Done;
  }

  /** Each message is a body of its own: what harmless ones score does not add up. */
  judgeMessage(ex: Exchange, message: Uint8Array): Fault {
    if (this.waf.allowedIps.has(ex.clientIp)) return Fault.None;
    const before = ex.wafScore;
    const fault = this.scoreBody(ex, message, 0, message.length, null);
    if (fault === Fault.None) ex.wafScore = before;
    return fault;
  }

  scoreBody(ex: Exchange, bytes: Uint8Array, from: number, to: number, progress: BodyProgress | null): Fault {
    const { scorer, settings, rules } = this.waf;
    const inspector = this.waf.takeInspector();
    const isJson = ex.route!.kind.readsJson;
    const before = ex.wafScore;
    inspector.body.begin(ex.request.headers, bytes, from, to, settings.maxInspectBodyBytes);
    if (rules !== null) {
      const ruled = rules.judgeBody(ex, inspector.body, isJson);
      if (ruled !== Fault.None || skipsOwn(ex)) {
        inspector.body.release();
        return ruled;
      }
    }
    inspector.findings.overrides = ex.rules;
    const score = inspector.inspectBody(ex.request, before, { isJson, progress });
    const isNews = score > before || inspector.findings.isNew;
    const fault = !isNews ? Fault.None : scorer.decide(ex, inspector.findings, score);
    return fault === Fault.None && this.rejects && !inspector.sawWholeBody ? scorer.refuseOverLimit(ex) : fault;
  }
}

/** Whether a rule of `waf.rules` has let the request pass the firewall's own. */
function skipsOwn(ex: Exchange): boolean {
  return ex.rules?.skipsAll === true;
}

/** How messages end where the taker of the body sees each as it comes, and may answer before the next; null if it does not. */
function messagesOf(ex: Exchange): WholeMessages | null {
  const { request, route } = ex;
  if (streamsLines(ex)) return wholeLinesEnd;
  if (request.major === 1 || !route!.streamsHttp2) return null;
  const isStream = declaredTypes(request.headers).isStream && request.headers.find(HeaderId.ContentEncoding) < 0;
  return isStream ? (bytes, _, length) => wholeMessagesEnd(bytes, 0, length) : null;
}

function wholeLinesEnd(bytes: Uint8Array, newFrom: number, length: number): number {
  const last = bytes.subarray(newFrom, length).lastIndexOf(Byte.Lf);
  return last < 0 ? 0 : newFrom + last + 1;
}

/**
 * Scores trailers by the rules for headers, since nothing may get past these by coming late: as a phase where the trailers of
 * a gathered body have become headers, and as a gate where they follow a body that streams.
 * docs/security.md#bodies-and-the-firewall
 */
export class WafTrailerPhase implements Phase, TrailerGate {
  static readonly NAME = "wafTrailers";
  readonly name: string = WafTrailerPhase.NAME;
  readonly needsBody = true;
  private readonly waf: Firewall;

  constructor(waf: Firewall) {
    this.waf = waf;
  }

  run(ex: Exchange): Verdict {
    const { framing, headers, major } = ex.request;
    // In HTTP/2 a body was gathered where its length was not declared.
    const wasGathered = headers.find(major > 1 ? HeaderId.ContentLength : HeaderId.TransferEncoding) >= 0;
    if (framing === Framing.Chunked || wasGathered !== (major === 1)) return Verdict.Next;
    const { scorer, allowedIps } = this.waf;
    const inspector = this.waf.takeInspector();
    if (skipsOwn(ex)) return Verdict.Next;
    inspector.findings.overrides = ex.rules;
    // What the head scored before has been reported.
    if (inspector.inspect(ex.request) <= ex.wafScore || allowedIps.has(ex.clientIp)) return Verdict.Next;
    return scorer.passes(ex, inspector.findings) ? Verdict.Next : Verdict.Done;
  }

  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault {
    const { scorer, allowedIps } = this.waf;
    const inspector = this.waf.takeInspector();
    if (skipsOwn(ex)) return Fault.None;
    inspector.findings.overrides = ex.rules;
    const score = inspector.inspectTrailers(ex.request, trailers);
    if (score === 0 || allowedIps.has(ex.clientIp)) return Fault.None;
    return scorer.decide(ex, inspector.findings, ex.wafScore + score);
  }
}
