import { type Keys, sectionAt } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { durationSetting } from "../plan.ts";
import type { Statement } from "../statement.ts";
import { proxyKeys } from "./caddy-proxy.ts";
import { goDuration } from "./caddy-values.ts";

/** What of `php_fastcgi` says how scripts are found; all else is as in `reverse_proxy`. */
const OWN: ReadonlySet<string> = new Set([
  "root",
  "split",
  "index",
  "env",
  "try_files",
  "resolve_root_symlink",
  "dial_timeout",
  "read_timeout",
  "write_timeout",
  "capture_stderr",
]);

/** Reads `php_fastcgi` into the keys of a route; null if its targets are not known before a request comes. @param root of the site; "" for none */
export function scriptKeys(
  statement: Statement,
  addresses: readonly string[],
  root: string,
  ledger: Ledger,
): Keys | null {
  const block = statement.block ?? [];
  const proxied = { ...statement, block: block.filter(({ name }) => !OWN.has(name)) };
  const keys = proxyKeys(Object.assign(Object.create(Object.getPrototypeOf(statement)), proxied), addresses, ledger);
  if (keys === null) return null;
  if (typeof keys.target === "string") keys.target = scriptUrl(keys.target);
  for (const one of (keys.targets ?? []) as { url: string }[]) one.url = scriptUrl(one.url);
  const fastcgi: Keys = { root: (root || ".").replace(/(.)\/$/, "$1") };
  keys.fastcgi = fastcgi;
  for (const one of block) if (OWN.has(one.name)) option(one, keys, fastcgi, ledger);
  return keys;
}

function scriptUrl(url: string): string {
  return `fastcgi://${url.replace(/^\w+:\/\//, "")}`;
}

function option(one: Statement, keys: Keys, fastcgi: Keys, ledger: Ledger): void {
  const [first = "", second = ""] = one.args;
  if (/[{}]/.test(one.args.join(" ")) && one.name !== "try_files") {
    ledger.note(one, "its value is of the request", "write it out: docs/php.md");
    return;
  }
  const ms = goDuration(first);
  if (one.name === "root") fastcgi.root = first;
  else if (one.name === "split") fastcgi.split_path = [...one.args];
  else if (one.name === "index" && first !== "off") fastcgi.index = first;
  else if (one.name === "env") fastcgi.env = { ...(fastcgi.env as Keys), [first]: second };
  else if (one.name === "try_files" && one.args.at(-1) === "=404") fastcgi.front_controller = false;
  else if (one.name === "dial_timeout" && ms !== null) sectionAt(keys, "timeouts").connect = durationSetting(ms);
  else if (one.name === "read_timeout" && ms !== null)
    Object.assign(sectionAt(keys, "timeouts"), { response_header: durationSetting(ms), idle: durationSetting(ms) });
  else if (one.name === "resolve_root_symlink" || one.name === "write_timeout" || one.name === "capture_stderr") {
    ledger.standard(one);
    return;
  } else {
    ledger.note(one, "edge looks for files, folders and the front controller in this order", "see docs/php.md");
    return;
  }
  ledger.carry(one);
}
