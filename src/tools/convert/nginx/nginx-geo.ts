import { escapedTemplate } from "../../../proto/template/template.ts";
import type { Keys } from "../keys.ts";
import { networkFrom } from "../networks.ts";
import type { Statement } from "../statement.ts";

/** What `geo` says as a map of the routes; null if maps cannot say it. docs/routing.md#maps */
export function geoMap({ block }: Statement, of: string): Keys | null {
  const rows = (block ?? []).filter(({ name }) => name !== "include" && name !== "volatile");
  const isRanges = rows.some(({ name, args }) => name === "ranges" && args.length === 0);
  const networks: Record<string, string> = {};
  let whenNone = "";
  for (const { name, args } of rows) {
    const [word = "", ...more] = args;
    const value = escapedTemplate(word);
    if (name === "ranges" && args.length === 0) continue;
    // Addresses that proxies tell are those of server.trusted_proxies.
    if (more.length > 0 || word.includes("$") || name.startsWith("proxy")) return null;
    if (name === "default") {
      whenNone = value;
      continue;
    }
    const isDeleted = name === "delete";
    const found = networksOf(isDeleted ? word : name, isRanges);
    if (found === null) return null;
    for (const network of found) {
      if (isDeleted) delete networks[network];
      else networks[network] = value;
    }
  }
  // As there, every address is in it, of both versions.
  const all = networks["0.0.0.0/0"] ?? networks["::/0"];
  if (all !== undefined && whenNone === "") whenNone = all;
  return { of, networks, ...(whenNone === "" ? {} : { default: whenNone }) };
}

function networksOf(text: string, isRanges: boolean): string[] | null {
  if (!isRanges) return /^[\d.]+(\/\d+)?$|^[\da-fA-F:.]+(\/\d+)?$/.test(text) ? [networkFrom(text)] : null;
  const [first = "", last = first] = text.split("-");
  const [from, to] = [numberOf(first), numberOf(last)];
  return from === null || to === null || from > to ? null : rangeNetworks(from, to);
}

/** The networks that have the addresses of a range, and no others: 62 at most. */
function rangeNetworks(from: number, to: number): string[] {
  const networks: string[] = [];
  for (let at = from; at <= to; ) {
    let bits = 32;
    while (bits > 0 && at % 2 ** (33 - bits) === 0 && at + 2 ** (33 - bits) - 1 <= to) bits--;
    networks.push(`${addressOf(at)}/${bits}`);
    at += 2 ** (32 - bits);
  }
  return networks;
}

function numberOf(address: string): number | null {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return null;
  return parts.reduce((sum, part) => sum * 256 + part, 0);
}

function addressOf(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
