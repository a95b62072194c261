import { messageOf } from "../../../core/error-text.ts";
import type { ObjectStore } from "../object-store.ts";
import type { KubeObject } from "../objects.ts";
import type { ApiClient, ApiResponse } from "./api-client.ts";

/** A kind, and its place at the API server. */
export interface WatchedKind {
  readonly kind: string;
  /** `/apis/gateway.networking.k8s.io/v1`. */
  readonly base: string;
  /** The plural, as paths have it. */
  readonly plural: string;
  readonly isClusterWide?: boolean;
  /** Asked for with lists and watches, such as `type=kubernetes.io/tls`. */
  readonly fieldSelector?: string;
}

/** Whether a kind is there: `absent` is none that this API server knows. */
export type WatchState = "waiting" | "synced" | "absent" | "refused" | "away";

/** Gets the states of a watch. */
interface WatchListener {
  /** @param reason for one line; "" if it is synced */
  onState(watch: KindWatch, state: WatchState, reason: string): void;
}

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 30_000;
const PAGE = 500;
/** A watch that ends sooner than this, without a change, is a failure: the next one waits. */
const SHORT_WATCH_MS = 1000;
/** A watch ends by itself after about so many seconds, so that those of one gateway do not end together. */
const WATCH_SECONDS = 240;

/** A response that ends an attempt. */
class ApiFault extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly waitMs: number,
  ) {
    super(message);
  }
}

/** Keeps the objects of one kind in the store: lists them, then follows their changes. It goes on until it is stopped. */
export class KindWatch {
  readonly kind: WatchedKind;
  /** "" for all namespaces. */
  readonly namespace: string;
  state: WatchState = "waiting";
  private readonly client: ApiClient;
  private readonly store: ObjectStore;
  private readonly listener: WatchListener;
  private readonly stopped = new AbortController();
  private version = "";
  private failures = 0;
  /** Changes that watches have brought. */
  private changes = 0;

  constructor(client: ApiClient, store: ObjectStore, kind: WatchedKind, namespace: string, listener: WatchListener) {
    this.client = client;
    this.store = store;
    this.kind = kind;
    this.namespace = namespace;
    this.listener = listener;
  }

  start(): void {
    void this.run();
  }

  stop(): void {
    this.stopped.abort();
  }

  private async run(): Promise<void> {
    while (!this.stopped.signal.aborted) {
      try {
        if (this.version === "") await this.list();
        await this.follow();
      } catch (error) {
        if (this.stopped.signal.aborted) return;
        await this.pause(this.failed(error));
      }
    }
  }

  private path(query: Readonly<Record<string, string>>): string {
    const { base, plural, isClusterWide, fieldSelector } = this.kind;
    const place = isClusterWide === true || this.namespace === "" ? "" : `/namespaces/${this.namespace}`;
    const all = fieldSelector === undefined ? query : { ...query, fieldSelector };
    return `${base}${place}/${plural}?${new URLSearchParams(all)}`;
  }

  private async list(): Promise<void> {
    const found: KubeObject[] = [];
    let next = "";
    do {
      const query = { limit: String(PAGE), ...(next === "" ? {} : { continue: next }) };
      const response = await this.client.call("GET", this.path(query));
      if (response.status !== 200) throw faultOf(response);
      const { items, metadata } = (response.body ?? {}) as { readonly items?: unknown; readonly metadata?: ListMeta };
      if (!Array.isArray(items) || typeof metadata?.resourceVersion !== "string")
        throw new Error("the API server's list is none");
      for (const item of items) if (isObject(item)) found.push(this.named(item));
      next = metadata.continue ?? "";
      this.version = next === "" ? metadata.resourceVersion : "";
    } while (next !== "" && !this.stopped.signal.aborted);
    if (this.stopped.signal.aborted) return;
    this.store.replace(this.kind.kind, found, this.namespace === "" ? undefined : this.namespace);
    this.enter("synced", "");
  }

  private async follow(): Promise<void> {
    const seconds = Math.round(WATCH_SECONDS * (1 + Math.random() / 4));
    const query = {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion: this.version,
      timeoutSeconds: String(seconds),
    };
    const [began, before] = [performance.now(), this.changes];
    const hasHeld = (): boolean => performance.now() - began >= SHORT_WATCH_MS || this.changes > before;
    const response = await this.client
      .watch(this.path(query), (event) => this.take(event), this.stopped.signal)
      .catch((error: unknown) => {
        if (hasHeld()) this.failures = 0;
        throw error;
      });
    if (response.status !== 200) throw faultOf(response);
    if (hasHeld()) this.failures = 0;
    else await this.pause(this.nextWait());
  }

  private take({ type, object }: { readonly type?: unknown; readonly object?: unknown }): void {
    if (type === "ERROR") {
      const { code, message } = (object ?? {}) as { readonly code?: unknown; readonly message?: unknown };
      // Its place in history is gone, or unknown: the list says how things are.
      this.version = "";
      if (code !== 410) throw new Error(typeof message === "string" ? message : "the watch has failed");
      return;
    }
    if (!isObject(object)) return;
    const { namespace = "", name, resourceVersion } = object.metadata;
    if (type === "DELETED") this.store.remove(this.kind.kind, namespace, name);
    else if (type === "ADDED" || type === "MODIFIED") this.store.put(this.named(object));
    if (type !== "BOOKMARK") this.changes++;
    if (resourceVersion !== undefined && this.version !== "") this.version = resourceVersion;
    if (this.state !== "synced") this.enter("synced", "");
  }

  /** Items of lists have no kind of their own. */
  private named({ metadata, ...object }: KubeObject): KubeObject {
    // Who has written which member is as large as the object: one word of it counts.
    const { managedFields, ...kept } = metadata as ManagedMeta;
    const isOwn = hasOwnStatus(managedFields, this.client.manager);
    return { ...object, kind: this.kind.kind, metadata: isOwn ? { ...kept, hasOwnStatus: true } : kept };
  }

  /** @returns milliseconds until the next attempt */
  private failed(error: unknown): number {
    const { status = 0, waitMs = 0 } = (error ?? {}) as Partial<ApiFault>;
    // The first one is how histories end; one after another would list all objects without a pause.
    if (status === 410) {
      this.version = "";
      return this.failures++ === 0 ? 0 : this.nextWait();
    }
    if (status === 404) this.enter("absent", "");
    else if (status === 401 || status === 403) this.enter("refused", messageOf(error));
    else if (status !== 429) this.enter("away", messageOf(error));
    // Its objects stay: only another list takes them away.
    if (status === 404 || status === 401 || status === 403) this.version = "";
    return Math.max(waitMs, this.nextWait());
  }

  /** Milliseconds, longer with each failure since a watch has held or brought a change. */
  private nextWait(): number {
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.failures++, 10));
    return longest * (0.5 + Math.random() / 2);
  }

  private enter(state: WatchState, reason: string): void {
    this.state = state;
    this.listener.onState(this, state, reason);
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const { signal } = this.stopped;
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener("abort", done);
    });
  }
}

interface ListMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
}

type ManagedMeta = KubeObject["metadata"] & { readonly managedFields?: unknown };

/** Whether a manager is the last one that has written conditions or addresses of a status. */
function hasOwnStatus(managedFields: unknown, manager: string): boolean {
  if (!Array.isArray(managedFields)) return false;
  return managedFields.some((entry: unknown) => {
    const one = (entry ?? {}) as { readonly manager?: unknown; readonly fieldsV1?: { readonly "f:status"?: unknown } };
    const fields = one.manager === manager ? one.fieldsV1?.["f:status"] : null;
    return typeof fields === "object" && fields !== null && STATUS_MEMBERS.some((name) => name in fields);
  });
}

const STATUS_MEMBERS: readonly string[] = ["f:conditions", "f:loadBalancer"];

function isObject(value: unknown): value is KubeObject {
  const { metadata } = (value ?? {}) as { readonly metadata?: { readonly name?: unknown } };
  return typeof metadata === "object" && metadata !== null && typeof metadata.name === "string";
}

function faultOf({ status, body, waitMs }: ApiResponse): ApiFault {
  const { message } = (body ?? {}) as { readonly message?: unknown };
  return new ApiFault(`${status}${typeof message === "string" ? ` ${message}` : ""}`, status, waitMs);
}
