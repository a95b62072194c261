import type { ObjectStore } from "./object-store.ts";
import type { Secret } from "./objects.ts";

/** A value of a Secret, as text; null if there is none. */
export function secretText(store: ObjectStore, namespace: string, name: string, key: string): string | null {
  const value = store.get<Secret>("Secret", namespace, name)?.data?.[key];
  return typeof value === "string" ? Buffer.from(value, "base64").toString() : null;
}

/**
 * The pairs of a Secret: of the lines `name:value` of one of its values, or, without a key, all its values by their names.
 * @returns why there are none; no text of the Secret is in it
 */
export function secretPairs(
  store: ObjectStore,
  namespace: string,
  name: string,
  key: string,
): Readonly<Record<string, string>> | string {
  const secret = store.get<Secret>("Secret", namespace, name);
  if (secret === null) return `there is no Secret ${namespace}/${name}`;
  const names = key === "" ? Object.keys(secret.data ?? {}) : [];
  const pairs: [string, string][] = names.map((one) => [one, secretText(store, namespace, name, one)?.trim() ?? ""]);
  if (key !== "") {
    const text = secretText(store, namespace, name, key);
    if (text === null) return `the Secret ${namespace}/${name} has no ${key}`;
    for (const line of text.split(/\r?\n/)) {
      const at = line.indexOf(":");
      if (line.trim() === "" || line.startsWith("#")) continue;
      if (at < 1) return `a line of the Secret ${namespace}/${name} is not name:value`;
      pairs.push([line.slice(0, at), line.slice(at + 1).trim()]);
    }
  }
  return pairs.length === 0 ? `the Secret ${namespace}/${name} is empty` : Object.fromEntries(pairs);
}
