import { withoutCredentials } from "../../../core/secret-name.ts";

/** Where a configuration is, beyond this machine's files. */
export type SourceAddress =
  | { readonly kind: "http"; readonly url: URL; readonly label: string }
  | { readonly kind: "s3"; readonly bucket: string; readonly key: string; readonly label: string }
  /** @param server without the key, as the store of a fleet is named */
  | { readonly kind: "redis"; readonly server: string; readonly key: string; readonly label: string };

/** Whether `--config` or `--routes` names a URL rather than a file. */
export function isSourceUrl(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

/**
 * Reads the URL of a configuration. docs/fleet.md#configuration-from-afar
 * @throws the fault in it, without its credentials
 */
export function readSourceAddress(text: string): SourceAddress {
  const url = URL.parse(text);
  const label = withoutCredentials(text);
  const fault = (expected: string): Error => new Error(`expected ${expected}, found ${JSON.stringify(label)}`);
  if (url === null || url.hostname === "" || url.hash !== "") throw fault(ANY_FORM);
  switch (url.protocol) {
    case "https:":
      return { kind: "http", url, label };
    case "http:":
      if (!LOOPBACK.test(url.hostname)) throw fault("https:// (http:// is for loopback alone)");
      return { kind: "http", url, label };
    case "s3:": {
      const key = decodedPath(url.pathname.slice(1));
      if (key === "" || key.endsWith("/") || url.search !== "") throw fault("s3://bucket/key");
      return { kind: "s3", bucket: url.hostname, key, label };
    }
    case "redis:":
    case "rediss:": {
      const [, database = "", name = ""] = /^\/(\d{1,2}(?=\/))?\/?(.*)$/s.exec(url.pathname) ?? [];
      const key = decodedPath(name);
      if (key === "" || url.search !== "") throw fault("redis://host:6379/key or redis://host:6379/0/key");
      url.pathname = `/${database}`;
      return { kind: "redis", server: url.href, key, label };
    }
    default:
      throw fault(ANY_FORM);
  }
}

/** The same address with another file in place of the last segment of its path. */
export function besideSource(text: string, file: string): string {
  return changedPath(text, (path) => path.slice(0, path.lastIndexOf("/") + 1) + file);
}

/** The same address with something behind the last segment of its path; a query stays. */
export function sourceWithSuffix(text: string, suffix: string): string {
  return changedPath(text, (path) => path + suffix);
}

function changedPath(text: string, change: (path: string) => string): string {
  const at = text.indexOf("?");
  const [path, query] = at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at)];
  return change(path) + query;
}

function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

const ANY_FORM = "https://host/config.yaml, s3://bucket/key or redis://host:6379/key";
const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
