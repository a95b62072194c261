import { hostname } from "node:os";
import { join } from "node:path";
import { isHostName } from "../../../config/origin.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import type { ServerCertificate } from "../../../message/server-certificate.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { TLS_EVENTS } from "../events.ts";
import { InternalNames, type InternalScope } from "../internal-names.ts";
import type { InternalAuthority } from "./internal-authority.ts";
import { serverCertificate } from "./server-certificate.ts";

/** Hosts of routes that have their certificates before a client asks; the others get theirs at the first handshake. */
const MAX_EARLY = 64;
/** Certificates for hosts of routes, and for names below wildcards and `localhost`. */
const MAX_HOSTS = 1000;
const MAX_OTHERS = 100;
/** Names that clients want within this time come together: each time every worker takes a whole set. */
const GATHER_MS = 20;
const CHECK_MS = 3_600_000;
/** Milliseconds before its end from which a certificate is renewed. */
const RENEW_MS = 2 * 86_400_000;

/** What certificates of the local authority need of the control thread. */
interface InternalPorts {
  /** The state folder. */
  readonly folder: string;
  readonly event: EventWriter<typeof TLS_EVENTS>;
  /** Other certificates than before. */
  changed(): void;
}

/** One certificate, and until when it is good. */
interface Signed {
  readonly certificate: ServerCertificate;
  readonly notAfterMs: number;
}

/** The certificates of the local authority, in the control thread. docs/tls.md#a-local-authority */
export class InternalCertificates {
  private readonly ports: InternalPorts;
  private names: InternalNames | null = null;
  private authority: InternalAuthority | null = null;
  /** The names of this machine, in one certificate: the default. */
  private machine: Signed | null = null;
  private machineNames: readonly string[] = [];
  private readonly byName: Map<string, Signed> = new Map();
  private readonly timer: ReturnType<typeof setInterval>;
  /** Names that are being signed. */
  private readonly signing: Map<string, Promise<void>> = new Map();
  private isFull = false;
  /** Resolves when the new certificates are shown. */
  private showing: Promise<void> | null = null;

  constructor(ports: InternalPorts) {
    this.ports = ports;
    this.timer = setInterval(() => void this.renew(Date.now()), CHECK_MS);
    this.timer.unref();
  }

  /** The default first. */
  get certificates(): readonly ServerCertificate[] {
    const all = [...(this.machine === null ? [] : [this.machine]), ...this.byName.values()];
    return all.map(({ certificate }) => certificate);
  }

  /** Begins, goes on with other names, or ends. @returns when the certificates of the names that are known are there */
  async use(config: RuntimeConfig, scope: InternalScope | null): Promise<void> {
    if (scope === null) {
      this.names = null;
      this.machine = null;
      this.byName.clear();
      return;
    }
    const names = new InternalNames(scope);
    this.names = names;
    this.isFull = false;
    for (const name of this.byName.keys()) if (!names.takes(name)) this.byName.delete(name);
    try {
      const authority = await this.open();
      const own = machineNames(config, names);
      if (!scope.isWhole) this.machine = null;
      else if (this.machine === null || own.join() !== this.machineNames.join())
        this.machine = await sign(authority, own, Date.now());
      this.machineNames = own;
      for (const name of [...names.hosts].slice(0, MAX_EARLY)) {
        if (!this.byName.has(name) && !own.includes(name))
          this.byName.set(name, await sign(authority, [name], Date.now()));
      }
    } catch (error) {
      this.failed(messageOf(error));
    }
    this.ports.changed();
  }

  /** A client asks for a name that has no certificate. @returns when there is one, or there will be none; never rejects */
  async wanted(name: string): Promise<void> {
    const { names, authority } = this;
    if (names === null || authority === null || this.byName.has(name) || !names.takes(name)) return;
    const known = this.signing.get(name);
    if (known !== undefined) return known;
    const isHost = names.hosts.has(name);
    const taken = new Set([...this.byName.keys(), ...this.signing.keys()]);
    const count = [...taken].filter((one) => names.hosts.has(one) === isHost).length;
    if (count >= (isHost ? MAX_HOSTS : MAX_OTHERS)) {
      if (!this.isFull) this.failed(`${count} names have certificates, which is the limit: ${name} gets none`);
      this.isFull = true;
      return;
    }
    const work = this.signOne(name, names, authority).finally(() => this.signing.delete(name));
    this.signing.set(name, work);
    return work;
  }

  private async signOne(name: string, names: InternalNames, authority: InternalAuthority): Promise<void> {
    try {
      const signed = await sign(authority, [name], Date.now());
      if (this.names !== names || this.authority !== authority) return;
      this.byName.set(name, signed);
      await this.show();
    } catch (error) {
      this.failed(messageOf(error));
    }
  }

  private show(): Promise<void> {
    this.showing ??= Bun.sleep(GATHER_MS).then(() => {
      this.showing = null;
      this.ports.changed();
    });
    return this.showing;
  }

  /** Signs again what ends soon. */
  async renew(nowMs: number): Promise<void> {
    if (this.names === null) return;
    const isDue = ({ notAfterMs }: Signed) => notAfterMs - nowMs < RENEW_MS;
    const due = [...this.byName].filter(([, signed]) => isDue(signed));
    const isMachineDue = this.machine !== null && isDue(this.machine);
    if (due.length === 0 && !isMachineDue) return;
    try {
      const authority = await this.open(nowMs);
      if (isMachineDue) this.machine = await sign(authority, this.machineNames, nowMs);
      for (const [name] of due) if (this.byName.has(name)) this.byName.set(name, await sign(authority, [name], nowMs));
      this.ports.changed();
    } catch (error) {
      this.failed(messageOf(error));
    }
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Reads the authority's file, or makes it. The library is loaded when it is first wanted. */
  private async open(nowMs: number = Date.now()): Promise<InternalAuthority> {
    const { InternalAuthority: Authority, AUTHORITY_FILE } = await import("./internal-authority.ts");
    const { authority, isNew } = await Authority.open(this.ports.folder, nowMs);
    if (authority.fingerprint !== this.authority?.fingerprint) {
      // What another authority has signed is not trusted with this one.
      this.machine = null;
      this.byName.clear();
      const file = join(this.ports.folder, AUTHORITY_FILE);
      this.ports.event("internal_authority", { ok: true, file, made: isNew, fingerprint: authority.fingerprint });
    }
    this.authority = authority;
    return authority;
  }

  private failed(error: string): void {
    this.ports.event("internal_authority", { ok: false, file: this.ports.folder, error });
  }
}

/** The names of this machine, and its addresses: clients that connect to an address send no name. */
function machineNames({ server }: RuntimeConfig, names: InternalNames): readonly string[] {
  const machine = hostname().toLowerCase();
  const bound = server.listeners.map(({ host }) => host).filter((host) => host !== "" && !ANY.has(host));
  const own = isHostName(machine) ? [machine] : [];
  return [...new Set(["localhost", "127.0.0.1", "::1", ...own, ...bound, ...names.addresses])].slice(0, MAX_EARLY);
}

async function sign(authority: InternalAuthority, names: readonly string[], nowMs: number): Promise<Signed> {
  const { chain, key } = await authority.issue(names, nowMs);
  const { INTERNAL_LIFE_MS } = await import("./internal-authority.ts");
  return { certificate: serverCertificate(`internal:${names[0]}`, chain, key), notAfterMs: nowMs + INTERNAL_LIFE_MS };
}

const ANY: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
