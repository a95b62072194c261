import { constants } from "node:os";
import { shorterInTests } from "../../../../core/shorter-in-tests.ts";
import { type Instance, inOrder } from "../labels/instance.ts";
import type { SourceWatch, WatchPorts } from "../live/source-kind.ts";
import { type ContainerFacts, containerFacts, listedContainers, MAX_CONTAINERS } from "./container.ts";
import { type Engine, type EngineEvent, engineFailure } from "./engine.ts";

/** The source, as the watch of an engine uses it. */
interface EnginePorts extends WatchPorts {
  /** Whether a container with these labels may have routes. */
  isWanted(labels: Readonly<Record<string, string>>): boolean;
}

/**
 * Keeps the containers of an engine that get requests: a list when it begins, then events. If the engine goes away or says nonsense, what
 * was known stays, and a new list comes as soon as it is back. It polls nothing.
 */
export class EngineWatch implements SourceWatch<Instance> {
  private readonly known: Map<string, Instance> = new Map();
  private readonly engine: Engine;
  private readonly ports: EnginePorts;
  private readonly stopped: AbortController = new AbortController();
  /** The question that is under way for each container: a later one, or its end, makes the response of no use. */
  private readonly asked: Map<string, symbol> = new Map();
  /** Containers to ask for. */
  private readonly waiting: Set<string> = new Set();
  private readonly failures: Map<string, number> = new Map();
  private readonly stops: Map<string, Pick<ContainerFacts, "stopSeconds" | "stopSignal">> = new Map();
  private running = 0;
  private idle: (() => void)[] = [];
  private pauseMs = FIRST_PAUSE_MS;

  /** @param before containers of an earlier process */
  constructor(engine: Engine, ports: EnginePorts, before: readonly Instance[]) {
    this.engine = engine;
    this.ports = ports;
    for (const one of before) this.known.set(one.id, one);
  }

  /** Containers for requests, the first started first. */
  get items(): readonly Instance[] {
    return inOrder(this.known.values());
  }

  /** Watches until `stop`. */
  async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      const session = new AbortController();
      const signal = AbortSignal.any([session.signal, this.stopped.signal]);
      const reason = await this.session(signal, session).catch(engineFailure);
      session.abort();
      if (this.stopped.signal.aborted) return;
      this.ports.failed(String(reason));
      await this.pause(this.pauseMs);
      this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  stop(): void {
    this.stopped.abort();
  }

  /** @throws why it has ended */
  private async session(signal: AbortSignal, session: AbortController): Promise<never> {
    const opened = Promise.withResolvers<void>();
    let isListed = false;
    const onOpen = (): void => {
      opened.resolve();
      // Another list has the changes between an early one and the first event.
      if (isListed && !isOpen) void this.catchUp(signal).catch(() => session.abort());
      isOpen = true;
    };
    let isOpen = false;
    const events = this.engine.events(signal, onOpen, (event) => this.onEvent(event));
    events.catch(() => {});
    await Promise.race([opened.promise, events, this.pause(OPEN_MS)]);
    await Promise.race([this.catchUp(signal), events]);
    isListed = true;
    // edge waits longer and longer for an engine that lets go again and again.
    const calm = setTimeout(() => {
      this.pauseMs = FIRST_PAUSE_MS;
    }, CALM_MS);
    const pings = this.engine.isFar ? setInterval(() => void this.ping(session), PING_MS) : undefined;
    try {
      return await events;
    } finally {
      clearInterval(pings);
      clearTimeout(calm);
    }
  }

  /** A far engine that has vanished ends no connection. */
  private async ping(session: AbortController): Promise<void> {
    if (!(await this.engine.answers(session.signal))) session.abort(new Error("the engine answers no more"));
  }

  /** Takes up everything as it is now. */
  private async catchUp(signal: AbortSignal): Promise<void> {
    const before = new Set(this.known.keys());
    const listed = listedContainers(await this.engine.read("/containers/json", signal));
    for (const id of before) if (!listed.has(id)) this.remove(id);
    for (const [id, labels] of listed) if (this.ports.isWanted(labels)) this.want(id);
    const done = new Promise<void>((resolve) => this.idle.push(resolve));
    this.pump();
    await done;
    this.ports.caughtUp();
  }

  private onEvent({ kind, action, id, attributes }: EngineEvent): void {
    if (kind === "network") {
      if (/^(dis)?connect$/.test(action) && (this.known.has(id) || this.ports.isWanted(attributes))) this.want(id);
      return this.pump();
    }
    if (OUT.test(action)) return this.remove(id);
    if (action === "kill") return this.killed(id, attributes.signal ?? "");
    if (/^health_status.*unhealthy/.test(action)) this.remove(id);
    if (!AGAIN.test(action) || !(this.known.has(id) || this.ports.isWanted(attributes))) return;
    this.want(id);
    this.pump();
  }

  /** A signal that stops a container takes it out before its port closes. If it runs on, it comes back. */
  private killed(id: string, signal: string): void {
    const { stopSeconds, stopSignal } = this.stops.get(id) ?? { stopSeconds: 10, stopSignal: "TERM" };
    const number = signalNumber(signal);
    if (HARMLESS.has(number) && number !== signalNumber(stopSignal)) return;
    if (!this.known.has(id) && !this.asked.has(id) && !this.waiting.has(id)) return;
    this.remove(id);
    const waitMs = signal === "" ? UNKNOWN_SIGNAL_MS : (stopSeconds + 2) * 1000;
    void this.pause(waitMs).then(() => {
      this.want(id);
      this.pump();
    });
  }

  private remove(id: string): void {
    this.asked.delete(id);
    this.waiting.delete(id);
    this.failures.delete(id);
    this.stops.delete(id);
    if (this.known.delete(id)) this.ports.changed();
  }

  private want(id: string): void {
    if (this.known.size + this.waiting.size < MAX_CONTAINERS || this.known.has(id)) this.waiting.add(id);
  }

  private pump(): void {
    for (const id of this.waiting) {
      if (this.running >= AT_ONCE) return;
      this.waiting.delete(id);
      this.running++;
      void this.ask(id).finally(() => {
        this.running--;
        this.pump();
      });
    }
    if (this.running === 0) for (const resolve of this.idle.splice(0)) resolve();
  }

  private async ask(id: string): Promise<void> {
    const mark = Symbol();
    this.asked.set(id, mark);
    let document: unknown;
    try {
      document = await this.engine.read(`/containers/${encodeURIComponent(id)}/json`, this.stopped.signal);
    } catch (error) {
      if (this.asked.get(id) === mark) this.askLater(id, engineFailure(error));
      return;
    }
    if (this.asked.get(id) !== mark) return;
    this.asked.delete(id);
    if (this.failures.delete(id) && this.failures.size === 0) this.ports.caughtUp();
    const facts = document === null ? null : containerFacts(document);
    if (facts === null) return this.remove(id);
    if (facts.container === null || !this.ports.isWanted(facts.container.labels)) return this.remove(id);
    this.stops.set(id, facts);
    if (Bun.deepEquals(this.known.get(id), facts.container)) return;
    this.known.set(id, facts.container);
    this.ports.changed();
  }

  /** One container that cannot be read takes down no other. */
  private askLater(id: string, reason: string): void {
    this.asked.delete(id);
    const failures = (this.failures.get(id) ?? 0) + 1;
    if (failures > MAX_FAILURES) {
      this.failures.delete(id);
      return;
    }
    this.failures.set(id, failures);
    if (failures === 1) this.ports.failed(reason);
    void this.pause(FIRST_PAUSE_MS * 2 ** failures).then(() => {
      if (!this.failures.has(id)) return;
      this.want(id);
      this.pump();
    });
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.stopped.signal.aborted) return resolve();
      const timer = setTimeout(end, ms);
      const { signal } = this.stopped;
      function end(): void {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      }
      signal.addEventListener("abort", end);
    });
  }
}

/** The number of a signal by its number or name; 0 for an unknown one. */
function signalNumber(signal: string): number {
  if (/^\d+$/.test(signal)) return Number(signal);
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return numbers[`SIG${signal.replace(/^SIG/, "")}`] ?? 0;
}

/** After these a container gets nothing. */
const OUT = /^(stop|die|died|destroy|pause|remove)$/;
/** After these edge asks for it. */
const AGAIN = /^(start|restart|unpause|rename|update|health_status)/;
/** Signals after which programs run on, unless they are the container's own for its stop. */
const HARMLESS: ReadonlySet<number> = new Set(
  ["HUP", "USR1", "USR2", "CHLD", "CONT", "URG", "WINCH"].map(signalNumber),
);
/** So many questions about containers at once. */
const AT_ONCE = 8;
const MAX_FAILURES = 6;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS: number = shorterInTests("ENGINE_PAUSE_MS", 5000);
/** An engine may send no byte before the first event. */
const OPEN_MS = 300;
const PING_MS = 15_000;
const CALM_MS = 2000;
/** Podman does not say which signal it was. */
const UNKNOWN_SIGNAL_MS = 3000;
