import { spreadWait } from "../core/spread-wait.ts";
import type { ProbeOrigin, ProbeOutcome } from "./http-probe.ts";

/** An active health check of one node. docs/upstreams.md#health-checks */
export interface HealthCheck {
  /** Names the node. */
  readonly key: string;
  readonly origin: ProbeOrigin;
  readonly path: string;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** Probes in a row that change the node's state. */
  readonly healthyThreshold: number;
  readonly unhealthyThreshold: number;
  /** Statuses that are healthy, both ends included. */
  readonly expectStatusFrom: number;
  readonly expectStatusTo: number;
}

/** What a prober asks its surroundings for. */
interface ProberPorts {
  probe(origin: ProbeOrigin, path: string, timeoutMs: number): Promise<ProbeOutcome>;
  /** A number from 0 up to 1. */
  random(): number;
  /** Calls back after a time. @returns what keeps it from doing so */
  after(ms: number, act: () => void): () => void;
  /** A node has become healthy or unhealthy. */
  onChange(key: string, healthy: boolean, outcome: ProbeOutcome): void;
}

/**
 * Asks every node that has a health check, again and again: each at its own moment, with a tenth of jitter, so that nodes
 * and gateways do not fall into step. Nodes begin healthy; those that a new configuration has too keep their state, and are
 * asked as it says.
 */
export class Prober {
  private readonly ports: ProberPorts;
  private readonly nodes: Map<string, CheckedNode> = new Map();
  private readonly waiting: CheckedNode[] = [];
  private running = 0;

  constructor(ports: ProberPorts) {
    this.ports = ports;
  }

  /** Checks these nodes from now on, and no others. */
  use(checks: readonly HealthCheck[]): void {
    const keys = new Set(checks.map((check) => check.key));
    for (const [key, node] of this.nodes) {
      if (keys.has(key)) continue;
      node.stop();
      this.nodes.delete(key);
    }
    for (const check of checks) {
      const known = this.nodes.get(check.key);
      if (known !== undefined) {
        known.check = check;
        continue;
      }
      const node = new CheckedNode(check, this.ports, (one) => this.admit(one));
      this.nodes.set(check.key, node);
      // Soon, so that a dead node is known soon; spread, so that they are not all asked in one moment.
      node.wait(this.ports.random() * Math.min(check.intervalMs, FIRST_SPREAD_MS + checks.length));
    }
  }

  /** Checks nothing any more. */
  stop(): void {
    this.use([]);
  }

  private admit(node: CheckedNode): void {
    if (this.running >= MAX_RUNNING) {
      this.waiting.push(node);
      return;
    }
    this.running++;
    void node.probe().finally(() => {
      this.running--;
      const next = this.waiting.shift();
      if (next !== undefined) this.admit(next);
    });
  }
}

class CheckedNode {
  /** As the configuration in use has it. */
  check: HealthCheck;
  private readonly ports: ProberPorts;
  private readonly due: (node: CheckedNode) => void;
  private isHealthy = true;
  /** Probes in a row that said the contrary. */
  private contrary = 0;
  private isStopped = false;
  private cancel: () => void = () => {};

  constructor(check: HealthCheck, ports: ProberPorts, due: (node: CheckedNode) => void) {
    this.check = check;
    this.ports = ports;
    this.due = due;
  }

  wait(ms: number): void {
    this.cancel = this.ports.after(ms, () => this.due(this));
  }

  stop(): void {
    this.isStopped = true;
    this.cancel();
  }

  async probe(): Promise<void> {
    const { check, ports } = this;
    if (this.isStopped) return;
    const outcome = await ports.probe(check.origin, check.path, check.timeoutMs);
    if (this.isStopped) return;
    this.judge(outcome);
    const jittered = spreadWait(check.intervalMs, JITTER, () => ports.random());
    this.wait(Math.max(0, jittered - outcome.latencyMs));
  }

  private judge(outcome: ProbeOutcome): void {
    const { check } = this;
    // What this machine lacks says nothing of the node.
    if (outcome.isOurs === true) return;
    const isGood = isExpected(check, outcome);
    this.contrary = isGood === this.isHealthy ? 0 : this.contrary + 1;
    if (this.contrary < (this.isHealthy ? check.unhealthyThreshold : check.healthyThreshold)) return;
    this.isHealthy = isGood;
    this.contrary = 0;
    this.ports.onChange(check.key, isGood, outcome);
  }
}

/** Whether a response came and is a healthy one: its status, and its body if the check reads that. */
export function isExpected(
  { expectStatusFrom, expectStatusTo }: Pick<HealthCheck, "expectStatusFrom" | "expectStatusTo">,
  { statusCode, error }: Pick<ProbeOutcome, "statusCode" | "error">,
): boolean {
  return error === "" && statusCode >= expectStatusFrom && statusCode <= expectStatusTo;
}

const JITTER = 0.1;
const FIRST_SPREAD_MS = 1000;
/** Probes under way at once. */
const MAX_RUNNING = 256;
