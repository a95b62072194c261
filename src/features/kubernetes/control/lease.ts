import type { ApiClient } from "./api-client.ts";

/** Who holds a lease, as the API server has it. */
interface LeaseObject {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
  };
}

const LEASE_SECONDS = 10;
const RENEW_MS = 2000;
const PATH = "/apis/coordination.k8s.io/v1/namespaces";

/** Gets the outcome of an election. */
interface LeaseListener {
  onLeader(isLeader: boolean): void;
  /** The lease cannot be had. @param reason for one line; "" if it can again */
  onTrouble(reason: string): void;
}

/** Chooses one gateway of all, which writes statuses. A holder that is silent for ten seconds is replaced. */
export class LeaseElection {
  isLeader = false;
  private readonly client: ApiClient;
  private readonly name: string;
  private readonly identity: string;
  private readonly listener: LeaseListener;
  private timer: Timer | null = null;
  private isStopped = false;
  private isBusy = false;
  /** The last sign of the holder, and when it was seen by our own clock: clocks of others are not compared with it. */
  private seen = "";
  private seenAt = 0;
  private renewedAt = 0;

  constructor(client: ApiClient, name: string, identity: string, listener: LeaseListener) {
    this.client = client;
    this.name = name;
    this.identity = identity;
    this.listener = listener;
  }

  start(): void {
    void this.turn();
    this.timer = setInterval(() => void this.turn(), RENEW_MS);
  }

  /** Gives the lease up, so that another gateway need not wait. */
  async stop(): Promise<void> {
    this.isStopped = true;
    if (this.timer !== null) clearInterval(this.timer);
    if (!this.isLeader) return;
    this.enter(false);
    try {
      const lease = await this.read();
      if (lease?.spec?.holderIdentity === this.identity) await this.write(lease, "");
    } catch {
      // It runs out by itself.
    }
  }

  private async turn(): Promise<void> {
    if (this.isBusy || this.isStopped) return;
    this.isBusy = true;
    try {
      const lease = await this.read();
      const { holderIdentity = "", renewTime = "" } = lease?.spec ?? {};
      const now = performance.now();
      const look = `${holderIdentity} ${renewTime}`;
      if (look !== this.seen) this.seenAt = now;
      this.seen = look;
      const isFree = holderIdentity === "" || now - this.seenAt > LEASE_SECONDS * 1000;
      if (holderIdentity === this.identity || isFree) {
        const isTaken = await this.write(lease, this.identity);
        if (isTaken) this.renewedAt = performance.now();
        this.enter(isTaken);
      } else this.enter(false);
      this.listener.onTrouble("");
    } catch (error) {
      this.listener.onTrouble((error as Error).message);
      if (performance.now() - this.renewedAt > (LEASE_SECONDS - 2) * 1000) this.enter(false);
    } finally {
      this.isBusy = false;
    }
  }

  /** Null if there is none yet. @throws Error */
  private async read(): Promise<LeaseObject | null> {
    const response = await this.client.call("GET", this.path());
    if (response.status === 404) return null;
    if (response.status !== 200) throw new Error(`${response.status} ${String(response.body?.message ?? "")}`.trim());
    return response.body;
  }

  /** @param holder "" for none @returns false if another gateway was faster */
  private async write(before: LeaseObject | null, holder: string): Promise<boolean> {
    const now = `${new Date().toISOString().slice(0, -1)}000Z`;
    const { spec = {}, metadata = {} } = before ?? {};
    const isSame = spec.holderIdentity === holder;
    const next = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { ...metadata, name: this.name, namespace: this.client.access.namespace },
      ...{
        spec: {
          holderIdentity: holder,
          leaseDurationSeconds: LEASE_SECONDS,
          renewTime: now,
          acquireTime: isSame ? (spec.acquireTime ?? now) : now,
          leaseTransitions: (spec.leaseTransitions ?? 0) + (isSame ? 0 : 1),
        },
      },
    };
    const isNew = before === null;
    const response = await this.client.call(isNew ? "POST" : "PUT", isNew ? this.folder() : this.path(), next);
    if (response.status === 409) return false;
    if (response.status >= 300) throw new Error(`${response.status} ${String(response.body?.message ?? "")}`.trim());
    return true;
  }

  private enter(isLeader: boolean): void {
    if (this.isLeader === isLeader) return;
    this.isLeader = isLeader;
    this.listener.onLeader(isLeader);
  }

  private folder(): string {
    return `${PATH}/${this.client.access.namespace}/leases`;
  }

  private path(): string {
    return `${this.folder()}/${this.name}`;
  }
}
