import type { Backend } from "./backend.ts";
import { BenignClient, type CanaryResult } from "./benign-client.ts";
import { authorityOf } from "./byte-link.ts";
import { Concern } from "./finding.ts";
import { judge } from "./judge.ts";
import { type ProbeTarget, runProbe } from "./probe-run.ts";
import type { ProbeRound, ScenarioResult, ScenarioSight } from "./scenario-result.ts";
import type { Vector } from "./vector.ts";
import type { Witness } from "./witness.ts";

/** One backend with its benign clients: its scenarios run one after the other. */
export class Lane {
  private readonly benign: BenignClient;
  private sequence: number | null = null;
  private originRequest = 0;
  private opening: CanaryResult | null = null;
  private tokens = 0;

  /** @param run sets the tokens of this run apart from others */
  constructor(
    readonly backend: Backend,
    private readonly target: ProbeTarget,
    private readonly witness: Witness | null,
    private readonly run: string,
  ) {
    this.benign = new BenignClient(backend, target.h1, target.answerMs, () => this.newToken());
  }

  /**
   * A first canary: the current sequence number.
   * @returns why the backend cannot be reached through the gateway; "" when it can
   */
  async open(): Promise<string> {
    const canary = await this.benign.canary();
    this.opening = canary;
    this.note(canary);
    return canary.fault;
  }

  /** Both stages of one scenario. docs/tools.md#multihop */
  async runScenario(vector: Vector): Promise<ScenarioResult> {
    const startedMs = performance.now();
    if (this.opening !== null && this.opening.fault !== "") return this.notReached(vector, this.opening);
    this.witness?.mark();
    const rounds: ProbeRound[] = [];
    for (const probe of vector.probes) {
      const [token, control] = [this.newToken(), this.newToken()];
      const authority = authorityOf(probe.protocol === "HTTP/2" ? this.target.h2 : this.target.h1);
      const at = { prefix: this.backend.prefix, authority, token };
      const outcome = await runProbe(this.target, probe, at, vector.requirement, control);
      rounds.push({ outcome, token, control, sweep: await this.benign.sweep() });
    }
    const expectedSequence = this.sequence === null ? null : this.sequence + 1;
    const originRequestBefore = this.originRequest;
    const canary = await this.benign.canary();
    const origin = this.witness === null ? null : await this.witness.sight();
    this.note(canary);
    const sight: ScenarioSight = { rounds, canary, expectedSequence, originRequestBefore, origin };
    const scenario = { vector, backend: this.backend };
    const findings = judge(scenario, sight);
    if (findings.some(({ concern }) => concern !== Concern.Vector)) await this.startAfresh();
    return { ...sight, scenario, findings, durationMs: performance.now() - startedMs };
  }

  close(): void {
    this.benign.close();
  }

  /** What one scenario has spoilt must not speak against the next, as far as that is in our hands. */
  private async startAfresh(): Promise<void> {
    await this.witness?.dropConnections();
    for (let attempt = 0; attempt < MAX_FRESH_STARTS; attempt++) {
      this.benign.close();
      // The gateway may not have heard yet that a connection which it kept is gone.
      const sweep = await this.benign.sweep();
      const canary = await this.benign.canary();
      this.note(canary);
      if (canary.fault === "" && sweep.every(({ fault }) => fault === "")) return;
    }
  }

  /** Without its backend a vector proves nothing: it has not passed, and nothing was harmed. */
  private notReached(vector: Vector, canary: CanaryResult): ScenarioResult {
    const text = `the backend cannot be reached through the gateway: ${canary.fault}`;
    const findings = [{ concern: Concern.Vector, text }];
    const scenario = { vector, backend: this.backend };
    const nothing = { rounds: [], expectedSequence: null, originRequestBefore: 0, origin: null, durationMs: 0 };
    return { scenario, canary, findings, ...nothing };
  }

  private note(canary: CanaryResult): void {
    this.sequence = canary.sequence;
    this.originRequest = canary.originRequest;
  }

  private newToken(): string {
    return `${this.run}-${this.backend.name}-${++this.tokens}`;
  }
}

const MAX_FRESH_STARTS = 3;
