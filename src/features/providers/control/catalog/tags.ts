import { isObject } from "../../../../core/value-kind.ts";
import { textOf } from "../docker/engine.ts";
import { isExposed, kindsOf, type LabelConfig } from "../labels/container-labels.ts";
import type { Instance } from "../labels/instance.ts";

/** Tags `label=value` as labels; others say nothing. Of a label that is there twice the first counts. */
export function tagLabels(tags: unknown): Readonly<Record<string, string>> {
  if (!Array.isArray(tags)) return {};
  const labels: Record<string, string> = Object.create(null);
  for (const tag of tags.slice(0, MAX_TAGS)) {
    const text = textOf(tag);
    const at = text.indexOf("=");
    const name = at < 0 ? "" : text.slice(0, at).trim();
    if (name !== "") labels[name] ??= text.slice(at + 1).trim();
  }
  return { ...labels };
}

/** The texts of a list. */
export function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** Whether an instance with some of these tags may have routes. */
export function mayBeExposed(tags: readonly string[], config: LabelConfig): boolean {
  if (config.exposedByDefault) return true;
  const kinds = kindsOf(config);
  return tags.some((tag) => {
    const [, kind] = /^\s*(edge|traefik)\.enable\s*=\s*(?:true|1)\s*$/i.exec(tag) ?? [];
    return kind !== undefined && kinds.includes(kind.toLowerCase() as "edge" | "traefik");
  });
}

/** Whether an instance has routes. */
export function hasRoutes({ labels }: Instance, config: LabelConfig): boolean {
  return isExposed(labels, config);
}

/** The address of an instance, as labels know networks. */
export function addressesOf(address: string): Readonly<Record<string, string>> {
  return address === "" ? {} : { address };
}

/** The port that an instance is registered with; none for 0. */
export function registeredPorts(port: unknown): readonly number[] {
  return typeof port === "number" && Number.isInteger(port) && port > 0 && port < 65_536 ? [port] : [];
}

/** A number that orders instances, as a text that sorts. */
export function orderText(index: unknown): string {
  return String(typeof index === "number" && index >= 0 ? Math.trunc(index) : 0).padStart(20, "0");
}

/** The objects of a list. @throws Error for a document that is none */
export function objectsOf(document: unknown, path: string): readonly Readonly<Record<string, unknown>>[] {
  if (!Array.isArray(document)) throw new Error(`${path}: the response is no list`);
  return document.filter(isObject);
}

/** The members of an object; none of anything else. */
export function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}

const MAX_TAGS = 1000;
