import type { Backend } from "./backend.ts";
import { MAX_EVIDENCE_CHARS } from "./limits.ts";
import { PARSER_HABITS } from "./parser-habits.ts";
import type { VectorOutcome } from "./probe-run.ts";
import { isRefused } from "./refusal.ts";
import { hasDesync, hasPassed, hasPoisonedPool, type ProbeRound, type ScenarioResult } from "./scenario-result.ts";
import type { OriginSight } from "./witness.ts";

/** The multi-hop report. docs/tools.md#reports-of-multihop */
export interface MultihopReport {
  readonly timestamp: string;
  readonly target_edge: string;
  readonly execution_mode: "standalone" | "live";
  readonly total_scenarios: number;
  readonly passed_scenarios: number;
  readonly failed_scenarios: number;
  readonly overall_verdict: "PASS" | "FAIL";
  readonly desynchronization_detected: boolean;
  readonly pool_poisoning_detected: boolean;
  readonly backends: readonly BackendRecord[];
  readonly results: readonly ResultRecord[];
  /** Whether the run was ended early; the scenarios that were still to come are in no count. */
  readonly interrupted: boolean;
  readonly planned_scenarios: number;
  readonly duration_ms: number;
}

interface BackendRecord {
  readonly runtime: string;
  readonly parser_engine: string;
  readonly prefix: string;
  readonly scenarios_tested: number;
  readonly scenarios_passed: number;
}

export interface ResultRecord {
  readonly vector_id: string;
  readonly name: string;
  readonly protocol: string;
  readonly backend: string;
  readonly prefix: string;
  /** Of the first probe that was not answered as it must be, else of the first. */
  readonly stage1: { readonly status: number | null; readonly reset: string | null; readonly closed: boolean };
  readonly stage2: {
    readonly status: number | null;
    readonly body_status: string | null;
    readonly sequence: number | null;
  };
  readonly expected: string;
  readonly passed: boolean;
  readonly desync: boolean;
  readonly pool_poisoned: boolean;
  readonly duration_ms: number;
  readonly evidence: EvidenceRecord;
}

interface EvidenceRecord {
  readonly findings: readonly string[];
  readonly expected_sequence: number | null;
  readonly probes: readonly ProbeRecord[];
  readonly canary: BytesRecord;
  /** What the origin itself has seen; null if it is not observed. */
  readonly origin: OriginRecord | null;
}

/** Bytes of one connection; text with one character a byte. */
interface BytesRecord {
  readonly sent_bytes: number;
  readonly received_bytes: number;
  readonly sent: string;
  readonly received: string;
}

export interface ProbeRecord extends BytesRecord {
  readonly probe: string;
  readonly status: number | null;
  readonly reset: string | null;
  readonly closed: boolean;
  readonly benign_requests_behind: number;
  readonly benign_requests_hurt: number;
}

interface OriginRecord {
  readonly received_bytes: number;
  readonly requests: readonly {
    readonly connection: number;
    readonly method: string;
    readonly target: string;
    readonly body_bytes: number;
    readonly token: string;
  }[];
  readonly refused: readonly string[];
  readonly unfinished: readonly { readonly connection: number; readonly bytes: number }[];
}

/** What a report is made from. */
interface ReportInput {
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly target: string;
  readonly mode: "standalone" | "live";
  /** Whether the origins are the tool's own. */
  readonly isSimulated: boolean;
  readonly planned: number;
  readonly isInterrupted: boolean;
  readonly results: readonly ScenarioResult[];
}

/** Sums a run up. A run that was ended early, or held nothing, is never a PASS. */
export function buildReport(input: ReportInput): MultihopReport {
  const { results, isInterrupted } = input;
  const passed = results.filter(hasPassed).length;
  const isPass = passed === results.length && results.length === input.planned && !isInterrupted && passed > 0;
  const backends = [...new Set(results.map(({ scenario }) => scenario.backend))];
  return {
    timestamp: new Date(input.startedAtMs).toISOString(),
    target_edge: input.target,
    execution_mode: input.mode,
    total_scenarios: results.length,
    passed_scenarios: passed,
    failed_scenarios: results.length - passed,
    overall_verdict: isPass ? "PASS" : "FAIL",
    desynchronization_detected: results.some(hasDesync),
    pool_poisoning_detected: results.some(hasPoisonedPool),
    backends: backends.map((backend) => backendRecord(backend, results, input.isSimulated)),
    results: results.map(resultRecord),
    interrupted: isInterrupted,
    planned_scenarios: input.planned,
    duration_ms: Math.round(input.durationMs),
  };
}

/** Bytes as text with one character a byte, cut to what a report can bear. */
function bytesRecord(sent: Buffer, received: Buffer): BytesRecord {
  return {
    sent_bytes: sent.length,
    received_bytes: received.length,
    sent: sent.toString("latin1", 0, MAX_EVIDENCE_CHARS),
    received: received.toString("latin1", 0, MAX_EVIDENCE_CHARS),
  };
}

function backendRecord(backend: Backend, results: readonly ScenarioResult[], isSimulated: boolean): BackendRecord {
  const own = results.filter(({ scenario, rounds }) => scenario.backend === backend && rounds.length > 0);
  return {
    runtime: backend.runtime,
    parser_engine: isSimulated ? PARSER_HABITS[backend.name].name : backend.parserEngine,
    prefix: backend.prefix,
    scenarios_tested: own.length,
    scenarios_passed: own.filter(hasPassed).length,
  };
}

function resultRecord(result: ScenarioResult): ResultRecord {
  const { scenario, canary, rounds } = result;
  const { vector, backend } = scenario;
  const shown = shownOutcome(result);
  return {
    vector_id: vector.id,
    name: vector.name,
    protocol: vector.protocol,
    backend: backend.name,
    prefix: backend.prefix,
    stage1: { status: shown?.status || null, reset: shown?.reset || null, closed: shown?.isClosed ?? false },
    stage2: { status: canary.status || null, body_status: canary.bodyStatus || null, sequence: canary.sequence },
    expected: vector.expected,
    passed: hasPassed(result),
    desync: hasDesync(result),
    pool_poisoned: hasPoisonedPool(result),
    duration_ms: Math.round(result.durationMs * 100) / 100,
    evidence: {
      findings: result.findings.map(({ text }) => text),
      expected_sequence: result.expectedSequence,
      probes: rounds.map(probeRecord),
      canary: bytesRecord(canary.exchange.sent, canary.exchange.received),
      origin: result.origin === null ? null : originRecord(result.origin),
    },
  };
}

/** The outcome that explains the verdict. */
function shownOutcome({ rounds, scenario }: ScenarioResult): VectorOutcome | undefined {
  const isRight = (outcome: VectorOutcome) =>
    scenario.vector.forwards === undefined ? isRefused(outcome) : outcome.status === 200;
  return (rounds.find(({ outcome }) => !isRight(outcome)) ?? rounds[0])?.outcome;
}

function probeRecord({ outcome, sweep }: ProbeRound): ProbeRecord {
  return {
    probe: outcome.name,
    status: outcome.status || null,
    reset: outcome.reset || null,
    closed: outcome.isClosed,
    benign_requests_behind: sweep.length,
    benign_requests_hurt: sweep.filter(({ fault }) => fault !== "").length,
    ...bytesRecord(outcome.sent, outcome.received),
  };
}

function originRecord({ requests, refused, unfinished, receivedBytes }: OriginSight): OriginRecord {
  return {
    received_bytes: receivedBytes,
    requests: requests.map(({ connection, method, target, body, token }) => {
      return { connection, method, target, body_bytes: body.length, token };
    }),
    refused,
    unfinished,
  };
}
