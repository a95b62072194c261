import { createHash } from "node:crypto";
import type { ObjectStore } from "../object-store.ts";
import type { KubeObject, ObjectCondition, ObjectEvent, ObjectRef, StatusPatch } from "../objects.ts";
import type { ApiClient } from "./api-client.ts";
import type { WatchedKind } from "./kind-watch.ts";

const AT_ONCE = 8;
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
const MAX_EVENTS = 2000;

/** Writes statuses and events: one write an object at a time, and only if it differs. */
export class StatusWriter {
  private readonly client: ApiClient;
  private readonly store: ObjectStore;
  private readonly kinds: ReadonlyMap<string, WatchedKind>;
  /** The reason of a write that was refused, for one line. */
  private readonly onRefused: (object: ObjectRef, reason: string) => void;
  private wanted: ReadonlyMap<string, StatusPatch> = new Map();
  private readonly written: Map<string, string> = new Map();
  private readonly busy: Set<string> = new Set();
  private readonly failures: Map<string, number> = new Map();
  /** Of statuses that need no write: the object and the text by which they were judged. */
  private readonly settled: Map<string, { readonly object: KubeObject; readonly text: string }> = new Map();
  /** Keys of statuses to be judged. */
  private readonly due: Set<string> = new Set();
  private said: Set<string> = new Set();
  private readonly untold: Map<string, ObjectEvent> = new Map();
  private isActive = false;
  private timer: Timer | null = null;

  constructor(
    client: ApiClient,
    store: ObjectStore,
    kinds: ReadonlyMap<string, WatchedKind>,
    onRefused: (object: ObjectRef, reason: string) => void,
  ) {
    this.client = client;
    this.store = store;
    this.kinds = kinds;
    this.onRefused = onRefused;
  }

  /** Takes the statuses, by `refKey`, and events from now on. */
  use(statuses: ReadonlyMap<string, StatusPatch>, events: readonly ObjectEvent[]): void {
    this.wanted = statuses;
    for (const known of [this.written, this.settled])
      for (const key of known.keys()) if (!this.wanted.has(key)) known.delete(key);
    this.note(events);
    this.renew(this.wanted.keys());
  }

  /** Some of the statuses are others, or their objects. @param keys of the map that `use` was given */
  renew(keys: Iterable<string>): void {
    for (const key of keys) {
      const patch = this.wanted.get(key);
      const known = this.settled.get(key);
      if (
        patch === undefined ||
        (known?.object === this.objectOf(patch) && known.text === JSON.stringify(patch.status))
      )
        continue;
      this.due.add(key);
    }
    this.work();
  }

  /** Whether this gateway writes. */
  activate(isActive: boolean): void {
    this.isActive = isActive;
    this.written.clear();
    this.settled.clear();
    for (const key of this.wanted.keys()) this.due.add(key);
    this.work();
  }

  stop(): void {
    this.isActive = false;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private note(events: readonly ObjectEvent[]): void {
    const now = new Map(events.map((event) => [JSON.stringify(event), event]));
    this.untold.clear();
    for (const [key, event] of now) if (!this.said.has(key)) this.untold.set(key, event);
    if (this.said.size > MAX_EVENTS) this.said = new Set([...this.said].filter((key) => now.has(key)));
  }

  private objectOf({ object: { kind, namespace, name } }: StatusPatch): KubeObject | null {
    return this.store.get(kind, namespace, name);
  }

  /** Each status is judged once for each change of it or of its object: there may be thousands, and each write calls this again. */
  private work(): void {
    if (!this.isActive) return;
    for (const key of this.due) {
      if (this.busy.size >= AT_ONCE) return;
      if (this.busy.has(key)) continue;
      this.due.delete(key);
      this.judge(key);
    }
    for (const [key, event] of this.untold) {
      if (this.busy.size >= AT_ONCE) return;
      this.untold.delete(key);
      this.said.add(key);
      this.begin(key, this.tell(event));
    }
  }

  private judge(key: string): void {
    const patch = this.wanted.get(key);
    const object = patch === undefined ? null : this.objectOf(patch);
    // `later` brings it back.
    if (patch === undefined || object === null || (this.failures.get(key) ?? 0) > Date.now()) return;
    const status = withTimes(patch.status, object.status ?? {}) as Record<string, unknown>;
    if (this.written.get(key) === textOf(patch.status, object) || isWithin(status, object.status ?? {}))
      this.settled.set(key, { object, text: JSON.stringify(patch.status) });
    else this.begin(key, this.write(key, patch, object, status));
  }

  private begin(key: string, call: Promise<void>): void {
    this.busy.add(key);
    void call.finally(() => {
      this.busy.delete(key);
      this.work();
    });
  }

  private async write(key: string, patch: StatusPatch, object: KubeObject, status: object): Promise<void> {
    const { resourceVersion } = object.metadata;
    try {
      const body = { metadata: { resourceVersion }, status: status };
      const path = `${this.pathOf(patch.object)}/status?${new URLSearchParams({ fieldManager: this.client.manager })}`;
      const response = await this.client.call("PATCH", path, body, "application/merge-patch+json");
      if (response.status < 300) {
        this.failures.delete(key);
        // Until the watch brings it, it is known to be there.
        this.written.set(key, textOf(patch.status, object));
        return;
      }
      // 409: a newer object is on its way, by which this is judged anew. 404: it is gone.
      if (response.status !== 409 && response.status !== 404)
        this.onRefused(patch.object, `${response.status} ${String(response.body?.message ?? "")}`.trim());
      this.later(key, response.waitMs || (response.status === 409 ? RETRY_MS / 4 : RETRY_MS * 5));
    } catch {
      this.later(key, RETRY_MS);
    }
  }

  private later(key: string, ms: number): void {
    this.failures.set(key, Date.now() + ms);
    this.lookAgain(ms);
  }

  private lookAgain(ms: number): void {
    const look = (): void => {
      this.timer = null;
      const now = Date.now();
      for (const [key, until] of this.failures)
        if (until <= now) {
          this.failures.delete(key);
          this.due.add(key);
        }
      this.work();
      // For longer waits one look suffices.
      if (this.failures.size > 0 && this.isActive) this.lookAgain(0);
    };
    this.timer ??= setTimeout(look, Math.min(LONGEST_RETRY_MS, Math.max(RETRY_MS / 4, ms)));
  }

  private async tell({ object, type, reason, message }: ObjectEvent): Promise<void> {
    const now = new Date().toISOString().replace(/\.\d+/, "");
    const namespace = object.namespace || "default";
    const digest = createHash("sha256")
      .update(JSON.stringify([object, reason, message]))
      .digest("hex");
    const known = this.store.get(object.kind, object.namespace, object.name);
    const body = {
      ...{ apiVersion: "v1", kind: "Event", type, reason, message: message.slice(0, 1000) },
      metadata: { name: eventName(object.name, digest.slice(0, 16)), namespace },
      involvedObject: {
        ...{ kind: object.kind, namespace: object.namespace, name: object.name },
        ...{ apiVersion: known?.apiVersion ?? "", uid: known?.metadata.uid ?? "" },
      },
      ...{ source: { component: "edge" }, firstTimestamp: now, lastTimestamp: now, count: 1 },
    };
    try {
      await this.client.call("POST", `/api/v1/namespaces/${namespace}/events`, body);
    } catch {
      // An event is a courtesy: statuses say what holds.
    }
  }

  private pathOf({ kind, namespace, name }: ObjectRef): string {
    const { base, plural } = this.kinds.get(kind)!;
    return namespace === "" ? `${base}/${plural}/${name}` : `${base}/namespaces/${namespace}/${plural}/${name}`;
  }
}

/** The name of an event: at most 253 characters, of which each part between dots begins and ends with a letter or digit. */
function eventName(object: string, digest: string): string {
  return `${object.slice(0, 253 - digest.length - 1).replace(/[.-]{1,253}$/, "")}.${digest}`;
}

function textOf(status: object, { metadata }: KubeObject): string {
  return `${metadata.resourceVersion} ${JSON.stringify(status)}`;
}

/** A condition that stays has the time since when it holds; members of lists are known by their names. */
function withTimes(wanted: unknown, there: unknown): unknown {
  if (Array.isArray(wanted)) {
    const others = Array.isArray(there) ? (there as unknown[]) : [];
    return wanted.map((one) => withTimes(one, others.find((other) => nameIn(other) === nameIn(one)) ?? null));
  }
  if (typeof wanted !== "object" || wanted === null) return wanted;
  const known = (typeof there === "object" && there !== null ? there : {}) as Record<string, unknown>;
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(wanted)) made[key] = withTimes(value, known[key]);
  if (!isCondition(wanted) || wanted.lastTransitionTime !== undefined) return made;
  const isSame = known.status === wanted.status && typeof known.lastTransitionTime === "string";
  made.lastTransitionTime = isSame ? known.lastTransitionTime : new Date().toISOString().replace(/\.\d+/, "");
  return made;
}

function isCondition(value: object): value is ObjectCondition {
  return "type" in value && "status" in value && "reason" in value;
}

function nameIn(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const { type, name, parentRef, ancestorRef, value: address } = value as Readonly<Record<string, unknown>>;
  return JSON.stringify([type, name, sorted(parentRef ?? ancestorRef), address]);
}

function sorted(value: unknown): unknown {
  return typeof value === "object" && value !== null ? Object.entries(value).sort() : value;
}

/** Whether all that is wanted is there already, in whatever order of keys; lists are alike as a whole. */
function isWithin(wanted: unknown, there: unknown): boolean {
  if (Array.isArray(wanted))
    return (
      Array.isArray(there) &&
      wanted.length === there.length &&
      wanted.every((one, i) => isWithin(one, (there as unknown[])[i]))
    );
  if (typeof wanted !== "object" || wanted === null) return (wanted ?? null) === (there ?? null);
  if (typeof there !== "object" || there === null) return false;
  return Object.entries(wanted).every(([key, value]) => isWithin(value, (there as Record<string, unknown>)[key]));
}
