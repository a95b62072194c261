import type { EventWriter } from "../../../core/event-row.ts";
import { CANARY_SCRIPT, type CanaryView, chooseCanaries, readCanaryView } from "../canary-script.ts";
import type { FLEET_EVENTS } from "../events.ts";
import type { CanaryConfig } from "../settings.ts";
import type { SharedStore } from "../shared-store.ts";
import type { CanaryGate, TriedSource } from "./canary-gate.ts";
import { SEEN_MS } from "./fleet.ts";

/** What a trial asks its surroundings for. */
export interface CanaryPorts {
  /** Tells the trials of different sources apart. */
  readonly source: string;
  readonly remote: TriedSource;
  /** Requests that have ended since the start, and 5xx among them. */
  counts(): { readonly requests: number; readonly errors: number };
  readonly event: EventWriter<typeof FLEET_EVENTS>;
  /** Whether the process ends. */
  isEnding(): boolean;
}

const MAX_FAULT_CHARS = 300;

/**
 * A gateway's part in the trial of a configuration: with each beat of the fleet it reports what it has served, and does what the verdict
 * asks for. docs/fleet.md#canaries
 */
export class CanaryRollout implements CanaryGate {
  private readonly ports: CanaryPorts;
  /** As of the last beat. */
  private store: SharedStore | null = null;
  private view: CanaryView | null = null;
  private counted = { requests: 0, errors: 0 };
  /** Whether this gateway may begin a trial in place of one that is there: it has just found another version at the source. */
  private mayBegin = false;
  /** What was found at the source last, for the trial that is over when the source goes back. */
  private lastFound = "";
  private goneBack = "";
  /** Why a version could not be applied; the others have not been told yet. */
  private failed = { version: "", fault: "" };
  private hurriedFor = "";
  /** The version and state in the log's last line, and the ones that this gateway last acted on. */
  private told = "";
  private acted = "";
  /** Versions that were tried and not taken. */
  rollbacks = 0;

  constructor(ports: CanaryPorts) {
    this.ports = ports;
  }

  found(version: string): void {
    this.mayBegin = true;
    this.lastFound = version;
    this.goneBack = "";
    this.acted = "";
  }

  none(running: string): void {
    if (this.lastFound !== "" && this.lastFound !== running) this.goneBack = this.lastFound;
    this.lastFound = "";
  }

  tried(version: string, fault: string): void {
    this.failed = { version, fault: fault.slice(0, MAX_FAULT_CHARS) };
    this.counted = this.ports.counts();
  }

  /** Reports, and acts on the verdict; to be called while the store is there. */
  async beat(store: SharedStore): Promise<void> {
    this.store = store;
    const settings = this.ports.remote.canary;
    if (settings === null) return;
    try {
      // One that ends has no part in it any more: what it serves meanwhile says nothing.
      if (this.ports.isEnding()) await this.leave(store);
      else await this.step(settings);
    } catch {
      // The store is away, which others tell of: where it is, no gateway moves.
    }
  }

  /** This gateway ends: what it had on trial is tried by others. */
  async leave(store: SharedStore): Promise<void> {
    this.store = store;
    if (this.view?.state !== "canary" || !this.view.canaries.includes(store.id)) return;
    await this.call("leave", "", store.id);
  }

  private async step(settings: CanaryConfig): Promise<void> {
    const { remote } = this.ports;
    if (this.goneBack !== "") {
      await this.call("clear", this.goneBack);
      this.goneBack = "";
    }
    await this.report("");
    const { waiting, on_trial, version } = remote.state();
    const wanted = waiting || (on_trial ? version : "");
    if (wanted !== "" && this.view?.version !== wanted && (this.view === null || this.mayBegin))
      await this.begin(wanted, settings);
    this.mayBegin = false;
    if (this.view !== null) await this.act(this.view);
  }

  private async begin(version: string, { share, forMs, maxErrorRate, minRequests }: CanaryConfig): Promise<void> {
    const ids = await this.store!.present(Date.now() - SEEN_MS);
    const { requests, errors } = this.ports.counts();
    await this.call(
      "begin",
      version,
      chooseCanaries(ids, version, share).join(","),
      ids.length,
      forMs,
      maxErrorRate,
      minRequests,
      requests < minRequests ? 0 : errors / requests,
    );
  }

  private async report(step: "try" | ""): Promise<void> {
    const { remote, counts } = this.ports;
    const now = counts();
    const { requests, errors } = this.counted;
    this.counted = now;
    const { failed } = this;
    const fault = failed.version === this.view?.version ? failed.fault : "";
    // A thread that has died takes nothing back, but numbers that do not grow must not end the script.
    const since = [Math.max(0, now.requests - requests), Math.max(0, now.errors - errors)];
    await this.call("report", remote.state().version, this.store!.id, ...since, step, fault);
    if (fault !== "" && failed === this.failed) this.failed = { version: "", fault: "" };
  }

  private async act(view: CanaryView): Promise<void> {
    const { remote } = this.ports;
    const { waiting, on_trial, version } = remote.state();
    const isOwn = view.version === waiting || (on_trial && view.version === version) || view.version === this.lastFound;
    if (!isOwn) {
      // Another gateway has seen it first.
      if (view.state !== "canary" || view.version === version || this.hurriedFor === view.version) return;
      this.hurriedFor = view.version;
      return remote.hurry();
    }
    this.tell(view);
    const verdict = `${view.version} ${view.state}`;
    if (this.acted === verdict) return;
    if (view.state === "good") {
      this.acted = verdict;
      remote.accept(view.version);
    } else if (view.state === "bad") {
      this.acted = verdict;
      this.rollbacks++;
      remote.refuse(view.version);
    } else if (waiting === view.version && view.canaries.includes(this.store!.id)) {
      await this.report("try");
      this.acted = verdict;
      remote.try(view.version);
    }
  }

  private tell(view: CanaryView): void {
    const { version, state, canaries, nodes, requests, errors, othersRequests, othersErrors, reason } = view;
    if (this.told === `${version} ${state}`) return;
    this.told = `${version} ${state}`;
    if (state === "canary") {
      const own = canaries.includes(this.store!.id);
      this.ports.event("canary_begin", { version, own, canaries: canaries.length, nodes });
      return;
    }
    this.ports.event("canary_end", {
      ok: state === "good",
      version,
      ...(reason === "" ? {} : { reason }),
      requests,
      errors,
      others_requests: othersRequests,
      others_errors: othersErrors,
    });
  }

  private async call(...words: readonly (string | number)[]): Promise<void> {
    const response = await this.store!.evaluate(CANARY_SCRIPT, `canary:${this.ports.source}`, words.map(String));
    this.view = readCanaryView(response);
  }
}
