import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { EventWriter } from "../../../core/event-row.ts";
import { trimmed } from "../../../core/trimming.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { ACME_EVENTS } from "../events.ts";
import type { AcmeConfig, ChallengeType } from "../settings.ts";
import { AcmeFailure, type Challenge } from "./certificate-authority.ts";
import type { DirectoryStorage } from "./certificate-storage.ts";
import { DocumentSeal } from "./shared/document-seal.ts";
import { type DocumentStore, StoreAway } from "./shared/document-store.ts";
import { CertificateNews, type SharedChallenge } from "./shared/fleet-news.ts";
import { type RedisCommands, RedisDocuments } from "./shared/redis-documents.ts";
import { S3Documents } from "./shared/s3-documents.ts";
import { SealedDocuments } from "./shared/sealed-documents.ts";
import { SharedStorage } from "./shared/shared-storage.ts";

/** Of a configuration what the storage goes by. */
type StorageConfig = Pick<RuntimeConfig, "cluster"> & { readonly server: { readonly acme: AcmeConfig } };

/** Connects to the store of the fleet. @param onLost learns once that the connection is gone */
export type OpenCertificateStore = (
  cluster: RuntimeConfig["cluster"],
  onLost: (reason: string) => void,
) => Promise<RedisCommands>;

/** What a shared storage asks the control thread for. */
interface StoragePorts {
  readonly event: EventWriter<typeof ACME_EVENTS>;
  /** Shows these challenges and no others. Resolves when every worker does. */
  readonly showChallenges: (http: readonly Challenge[], alpn: readonly Challenge[]) => Promise<void>;
  readonly openStore: OpenCertificateStore;
}

/** `server.acme.storage` where it is shared with other gateways. docs/acme.md#one-store-for-several-gateways */
export class FleetCertificates {
  readonly settings: string;
  readonly storage: SharedStorage;
  private readonly documents: SealedDocuments;
  private readonly news: CertificateNews;
  private readonly ports: StoragePorts;
  private readonly hasSeveralKeys: boolean;
  private shown = "[]";
  private showing: Promise<void> = Promise.resolve();

  /** @param config with a storage that is not file */
  constructor(config: StorageConfig, ports: StoragePorts) {
    const { acme } = config.server;
    const kind = kindOf(acme);
    const holder = `${hostname()} ${process.pid} ${randomUUID()}`;
    this.settings = storageKey(config);
    this.ports = ports;
    this.hasSeveralKeys = acme.storageKey.length > 1;
    this.documents = new SealedDocuments(documentsOf(config, ports.openStore), new DocumentSeal(acme.storageKey), {
      onAway: (error) => ports.event("cert_store_away", { storage: kind, error }),
      onBack: () => {
        ports.event("cert_store_back", { storage: kind });
        // What was obtained meanwhile is put there, and what others have put there is taken.
        this.storage.onChanged(null);
      },
    });
    this.news = new CertificateNews(
      this.documents,
      { holder, pollMs: kind === "s3" ? S3_POLL_MS : REDIS_POLL_MS },
      {
        onChallenges: (challenges) => this.show(challenges),
        onChanged: (names) => this.storage.onChanged(names),
      },
    );
    this.storage = new SharedStorage({
      documents: this.documents,
      cacheDir: acme.cacheDir,
      holder,
      tell: (name) => this.news.tell(name),
      onImported: (names) => ports.event("cert_imported", { names }),
    });
  }

  get isAway(): boolean {
    return this.documents.isAway;
  }

  get failures(): number {
    return this.documents.failures;
  }

  at(directoryUrl: string): DirectoryStorage {
    return this.storage.at(directoryUrl);
  }

  start(): void {
    this.news.start();
    if (this.hasSeveralKeys) void this.sealAnew();
  }

  /** Has challenges answered by every gateway, in place of those before. Resolves when they are. @throws AcmeFailure */
  async answer(type: ChallengeType, challenges: readonly Challenge[]): Promise<void> {
    try {
      await this.news.answer(type, challenges);
    } catch (error) {
      if (!(error instanceof StoreAway)) throw error;
      throw new AcmeFailure("store_away", error.message);
    }
  }

  async close(): Promise<void> {
    await this.storage.release();
    this.news.stop();
    this.documents.close();
  }

  /** The secret is being replaced: when all is sealed with the first one, the others can go. */
  private async sealAnew(): Promise<void> {
    try {
      const { sealed, left } = await this.storage.sealAnew();
      this.ports.event("cert_store_sealed", { documents: sealed, left });
    } catch {
      // The store is away, which is told already. The next start seals them.
    }
  }

  private show(challenges: readonly SharedChallenge[]): Promise<void> {
    const text = JSON.stringify(challenges.map(({ type, name, keyAuthorization }) => [type, name, keyAuthorization]));
    if (text !== this.shown) {
      this.shown = text;
      const of = (type: ChallengeType) => challenges.filter((challenge) => challenge.type === type);
      const next = () => this.ports.showChallenges(of("http-01"), of("tls-alpn-01"));
      this.showing = this.showing.then(next, next);
    }
    return this.showing;
  }
}

/** What tells two storages apart. */
export function storageKey({ cluster, server: { acme } }: StorageConfig): string {
  const { storage, storageEndpoint, storageRegion, storageCredentials, cacheDir } = acme;
  const place = kindOf(acme) === "redis" ? cluster : [storageEndpoint, storageRegion, storageCredentials];
  return JSON.stringify([storage, acme.storageKey, cacheDir, place]);
}

function kindOf({ storage }: AcmeConfig): "redis" | "s3" {
  return storage.startsWith("s3:") ? "s3" : "redis";
}

function documentsOf({ cluster, server: { acme } }: StorageConfig, openStore: OpenCertificateStore): DocumentStore {
  if (kindOf(acme) === "redis") {
    return new RedisDocuments(cluster.prefix, (onLost) => openStore(cluster, onLost));
  }
  const { hostname: bucket, pathname } = new URL(acme.storage);
  const prefix = trimmed(pathname, "/");
  return new S3Documents({
    bucket,
    prefix: prefix === "" ? "" : `${prefix}/`,
    endpoint: acme.storageEndpoint,
    region: acme.storageRegion,
    ...acme.storageCredentials,
  });
}

/** How often edge asks the store for news: a command of some bytes. */
const REDIS_POLL_MS = 500;
/** Likewise; a request that finds nothing new costs at most a tenth of one that does. */
const S3_POLL_MS = 2000;
