import type { FaultLog } from "../../config/fault-log.ts";
import { list, type Spot } from "../../config/piece.ts";
import { block, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { secret, text, textLike } from "../../config/scalars.ts";
import { checkSecrets } from "../../config/secret-keys.ts";

const credentials = block({
  access_key_id: {
    type: secret("the id of the key"),
    default: "",
    example: "${S3_KEY_ID}",
    doc: "the id of the access key",
  },
  secret_access_key: {
    type: secret("the key"),
    default: "",
    example: "${S3_SECRET_KEY}",
    doc: "the secret access key",
  },
  session_token: {
    type: secret("the token"),
    default: "",
    example: "${S3_TOKEN}",
    doc: "the token of temporary credentials",
  },
});

/** Where account, keys and certificates are kept: on this machine, or together with other gateways. docs/acme.md#one-store-for-several-gateways */
export const storageRows = {
  storage: {
    type: textLike(
      /^(file|redis|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9._-]+)*\/?)$/,
      "file, redis or s3://bucket/prefix",
    ),
    default: "file",
    example: "redis",
    doc: "file: cache_dir alone; redis (of cluster) or s3://bucket/prefix: your gateways share them",
  },
  storage_key: {
    type: list(secret("a secret"), "secrets", true),
    example: "${ACME_STORAGE_KEY}",
    doc: "keys that encrypt the storage: the first encrypts, all decrypt, so you can rotate them",
  },
  storage_endpoint: {
    type: textLike(/^(https?:\/\/[^\s/?#@]+\/?)?$/, "the URL of an S3 server, such as https://s3.example.com"),
    default: "",
    example: "https://s3.example.com",
    doc: "the endpoint of S3; as in the environment by default, or Amazon's",
  },
  storage_region: {
    type: text("a region"),
    default: "",
    example: "eu-central-1",
    doc: "the region of S3; as in the environment by default",
  },
  storage_credentials: { type: credentials, doc: "credentials of S3; AWS_ACCESS_KEY_ID and so on by default" },
} as const satisfies Rows;

/** Notes the fault in the storage by itself. */
export function checkStorageKeys(values: Values<typeof storageRows>, spot: Spot): void {
  const { path, log } = spot;
  const { storage, storage_key: keys, storage_credentials: own } = values;
  if (isFaultyAt(spot, "storage") || isFaultyAt(spot, "storage_key")) return;
  if (storage === "file") {
    if (keys.length > 0)
      log.warn([...path, "storage_key"], "has no effect: storage is file, which other programs read");
    return;
  }
  if (keys.length === 0)
    log.fault(
      [...path, "storage"],
      'needs storage_key beside it, which "openssl rand -base64 32" makes: the keys of certificates are encrypted with it',
    );
  checkSecrets(keys, log, [...path, "storage_key"], "it decrypts nothing");
  if ((own.access_key_id === "") !== (own.secret_access_key === ""))
    log.fault([...path, "storage_credentials"], "needs both access_key_id and secret_access_key");
}

/** Notes a storage in the store of a fleet if there is none. */
export function checkStorage(
  acme: { readonly enabled: boolean; readonly storage: string },
  cluster: { readonly enabled: boolean },
  log: FaultLog,
): void {
  const at = ["server", "acme", "storage"];
  if (acme.enabled && acme.storage === "redis" && !cluster.enabled && !log.isFaulty(at) && !log.isFaulty(["cluster"]))
    log.fault(
      at,
      "redis needs a section cluster in config.yaml, with the store that the gateways share, such as cluster: {store: redis://10.0.0.9:6379}",
    );
}
