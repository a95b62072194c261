import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { strictYaml } from "../../../config/yaml-document.ts";
import { trimmedEnd } from "../../../core/trimming.ts";
import { isObject } from "../../../core/value-kind.ts";

/** How the API server is reached, and as whom. Values of it go into no log. */
export interface ApiAccess {
  /** `https://10.0.0.1:6443`, without a final slash. */
  readonly server: string;
  /** In PEM; "" for the roots of the system. */
  readonly ca: string;
  readonly pair: { readonly cert: string; readonly key: string } | null;
  /** Asked for each request, since tokens in files rotate; "" for none. */
  token(): string;
  /** The namespace of the gateway's own objects. */
  readonly namespace: string;
}

/** The way to the API server. */
interface AccessSettings {
  /** "" for `$KUBECONFIG`, else the account of the pod. */
  readonly kubeconfig: string;
  /** "" for the current one. */
  readonly context: string;
}

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Rotated tokens are read again after so many milliseconds. */
const TOKEN_MS = 30_000;

/**
 * Reads a kubeconfig, or the account that a pod has.
 * @throws Error with one line that names the cause
 */
export function apiAccess(
  { kubeconfig, context }: AccessSettings,
  env: Readonly<Record<string, string | undefined>>,
): ApiAccess {
  const named = kubeconfig === "" ? (env.KUBECONFIG ?? "").split(":")[0]! : kubeconfig;
  const host = env.KUBERNETES_SERVICE_HOST ?? "";
  if (named === "" && host !== "") return accountAccess(host, env);
  if (named === "")
    throw new Error("no kubeconfig, no $KUBECONFIG, and no account of a pod: set providers.kubernetes.kubeconfig");
  return fileAccess(named, context);
}

function accountAccess(host: string, env: Readonly<Record<string, string | undefined>>): ApiAccess {
  const folder = env.EDGE_KUBERNETES_ACCOUNT ?? ACCOUNT;
  const name = host.includes(":") ? `[${host}]` : host;
  return {
    server: `https://${name}:${env.KUBERNETES_SERVICE_PORT ?? "443"}`,
    ca: textOf(`${folder}/ca.crt`),
    pair: null,
    token: tokenFile(`${folder}/token`),
    namespace: textOf(`${folder}/namespace`).trim(),
  };
}

function fileAccess(file: string, wanted: string): ApiAccess {
  const document = strictYaml(textOf(file));
  const config: unknown = document.errors.length > 0 ? null : document.toJS();
  if (!isObject(config)) throw new Error(`${file} is no kubeconfig`);
  const name = wanted === "" ? textIn(config, "current-context") : wanted;
  const context = entryOf(config, "contexts", name, "context", file);
  const cluster = entryOf(config, "clusters", textIn(context, "cluster"), "cluster", file);
  const user = entryOf(config, "users", textIn(context, "user"), "user", file);
  for (const key of ["exec", "auth-provider"])
    if (key in user)
      throw new Error(`${file}: the user has ${key}, a program that edge does not run: use a token or a certificate`);
  if (cluster["insecure-skip-tls-verify"] === true)
    throw new Error(`${file}: insecure-skip-tls-verify is refused: name certificate-authority`);
  const server = trimmedEnd(textIn(cluster, "server"), "/");
  if (!/^https?:\/\/[^/]/.test(server)) throw new Error(`${file}: the cluster has no server with https://`);
  const pem = (map: Members, key: string): string => {
    const data = textIn(map, `${key}-data`);
    if (data !== "") return Buffer.from(data, "base64").toString();
    const named = textIn(map, key);
    return named === "" ? "" : textOf(resolve(dirname(file), named));
  };
  const [cert, key] = [pem(user, "client-certificate"), pem(user, "client-key")];
  const tokenPath = textIn(user, "tokenFile");
  const token = textIn(user, "token");
  return {
    server,
    ca: pem(cluster, "certificate-authority"),
    pair: cert === "" ? null : { cert, key },
    token: tokenPath === "" ? () => token : tokenFile(resolve(dirname(file), tokenPath)),
    namespace: textIn(context, "namespace") || "default",
  };
}

type Members = Readonly<Record<string, unknown>>;

function textIn(map: Members, key: string): string {
  const value = map[key];
  return typeof value === "string" ? value : "";
}

function entryOf(config: Members, list: string, name: string, key: string, file: string): Members {
  const all = Array.isArray(config[list]) ? (config[list] as unknown[]).filter(isObject) : [];
  const value = all.find((one) => one.name === name)?.[key];
  if (!isObject(value)) throw new Error(`${file}: ${list} has no ${name === "" ? "current one" : name}`);
  return value;
}

function tokenFile(path: string): () => string {
  let token = textOf(path).trim();
  let readAt = performance.now();
  return () => {
    if (performance.now() - readAt < TOKEN_MS) return token;
    readAt = performance.now();
    try {
      token = readFileSync(path, "utf8").trim() || token;
    } catch {
      // The one before may still be good.
    }
    return token;
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${path}: ${(error as { readonly code?: string }).code ?? "cannot be read"}`);
  }
}
