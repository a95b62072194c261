import { trimmedEnd } from "../../../core/trimming.ts";
import { holdsPath } from "../arrange.ts";
import { EFFORT } from "../effort.ts";
import type { Keys } from "../keys.ts";
import type { Ledger } from "../ledger.ts";
import { partOf } from "../modifiers.ts";
import { ROOT } from "../path-rule.ts";
import { closed, hasType, isRefusal, type Rule } from "../plan.ts";

/**
 * nginx asks for the page of a folder, and for the fallback of paths without a file, anew, by their names: what keeps clients from
 * `/docs/index.html` keeps them from `/docs/`, too. Puts responses for folders in front of the routes of files, and closes fallbacks.
 */
export function withFolders(rules: readonly Rule[], ledger: Ledger): Rule[] {
  const barring: Rule[] = [];
  const out: Rule[] = [];
  for (const rule of rules) {
    const { path, keys, folders } = rule;
    const fastcgi = keys.fastcgi as Keys | undefined;
    // Of paths by their extension, none is a folder.
    const isOfFiles = hasType(keys, "static") && keys.regex === undefined;
    if (isOfFiles || (fastcgi !== undefined && fastcgi.check_files !== false)) {
      const before = firstBarring(barring, rule, PAGE);
      if ((folders === "closed" || before !== null) && path.kind === "prefix") {
        out.push(...twinOf(rule, before));
        if (folders !== "closed" && before !== null && !isRefusal(before.keys))
          ledger.note(
            before.origin,
            `its expression may take ${PAGE} of folders: these are closed`,
            "write a route for the folders, if they have such a page",
          );
      }
      const page = keys.spa === true ? String(keys.fallback).split("/").at(-1)! : null;
      if (page !== null && firstBarring(barring, rule, page) !== null) closed(rule);
    }
    const isOpen = keys.ip_rules === undefined && keys.auth === undefined && !hasType(keys, "respond");
    if (path.kind === "exact" && !isOpen) barring.push(rule);
    if (path.kind === "exact" && path.value.endsWith(`/${PAGE}`) && !isOpen) {
      const folder = path.value.slice(0, -PAGE.length);
      out.push({ ...rule, keys: { type: "respond", status: refusalOf(rule) }, path: { kind: "exact", value: folder } });
    } else if (typeof keys.regex === "string" && !hasType(keys, "redirect")) barring.push(rule);
    // Beyond, one of them counts for all paths.
    if (barring.length > MAX_BARRING) barring.splice(0, barring.length, { ...rule, path: ROOT, keys: { regex: "" } });
    out.push(rule);
  }
  return out;
}

/** The first rule that takes a page before a route of files does. */
function firstBarring(barring: readonly Rule[], rule: Rule, page: string): Rule | null {
  const { path } = rule;
  EFFORT.take(barring.length);
  const found = barring.find((one) => {
    const { path: own, keys } = one;
    if (sendsSame(one, rule)) return false;
    if (typeof keys.regex !== "string") return page !== PAGE && own.value.endsWith(`/${page}`);
    if (beginsApart(keys.regex, path.value)) return false;
    return (holdsPath(own, path) || holdsPath(path, own)) && mayTakePage(keys.regex, page);
  });
  return found ?? null;
}

/** Whether the letters at the beginning of an expression are none of the paths at a place. */
function beginsApart(regex: string, place: string): boolean {
  if (regex.includes("|") || !regex.startsWith("^")) return false;
  const [letters = ""] = /^[\w/-]*/.exec(regex.slice(1)) ?? [];
  // A sign behind the last letter may say that it need not be there.
  const certain = /^[?*{]/.test(regex.slice(1 + letters.length)) ? letters.slice(0, -1) : letters;
  return !certain.startsWith(place) && !place.startsWith(certain);
}

/** Whether a route with an expression sends the files of the other route, to every client. */
function sendsSame({ path, keys: own }: Rule, { path: at, keys }: Rule): boolean {
  const { dir, regex, ip_rules, auth } = own;
  if (!hasType(own, "static") || regex === undefined || ip_rules !== undefined || auth !== undefined) return false;
  const root = (keys.fastcgi as Keys | undefined)?.root;
  if (root !== undefined) return path.value === "/" && dir === root;
  const inner = at.value === "/" ? "" : at.value.slice(path.value === "/" ? 0 : path.value.length);
  return holdsPath(path, at) && keys.rewrite === undefined && keys.dir === `${dir === "/" ? "" : dir}${inner}`;
}

/** A response for the folders of a route. */
function twinOf(rule: Rule, barring: Rule | null): Rule[] {
  const part = partOf(rule, { path: null, hosts: [], methods: [], match: {}, regex: "", notAny: [] });
  if (part === null) return [];
  const status = barring === null ? 404 : refusalOf(barring);
  return [
    {
      ...part,
      title: `${rule.title}: folders`,
      keys: { type: "respond", status, regex: "/$" },
      scopes: barring === null ? part.scopes : [...part.scopes, barring.origin],
    },
  ];
}

function refusalOf({ keys: { status } }: Rule): number {
  return Number(status) >= 400 ? Number(status) : 403;
}

/** Whether an expression may take the page of a folder and not the folder, as far as its text shows it. */
function mayTakePage(regex: string, page: string): boolean {
  EFFORT.take(1 + regex.length / CHARS_A_STEP);
  const text = regex
    .replace(/^\(\?i\)/, "")
    .replace(/\(\?:\/\|(?:\\n\?)?\$\)$/, "$")
    .replace(/\(\?:(?:\\n\?)?\$\|\/\)$/, "$")
    .replace(/\\n\?\$$/, "$")
    // All paths with one beginning, and those of which the beginning is no whole segment.
    .replace(/^(\^[^|(]*)\((?:\?:)?(?:\.|\[\^\\n\])\*\)\$?$/, "$1")
    .replace(/^(\^[^|(]*)(?:\.|\[\^\\n\])\*\$?$/, "$1")
    .replace(/^(\^[^|(]*)\[\^\/\]$/, "$1")
    .toLowerCase();
  const whole = plainText(text);
  // A text that has nothing of the page's name is one of the folder.
  if (whole !== null) return reaches(whole, page);
  if (HIDDEN.test(text)) return false;
  // What ends with a segment's beginning takes the page by that of its name alone.
  const start = /\/([\w-]+)$/.exec(text)?.[1];
  if (start !== undefined && !text.replaceAll(/\([^()]*\)/g, "").includes("|")) return page.startsWith(start);
  const first = /^\^\/\((?:\?:)?([^()]*)\)(?:\/|\(\/\|\\n\?\$\))?$/.exec(text)?.[1]?.replaceAll("\\", "").split("|");
  if (first?.every((word) => /^[\w./-]+$/.test(word)) === true)
    return first.some((word) => page.startsWith(word) || word.startsWith(page));
  // What ends with a slash is in the folder.
  if (/[^\\]\/$/.test(text) && !text.includes("|")) return false;
  if (!text.endsWith("$")) return true;
  const last = text.slice(0, -1);
  const group = last.endsWith(")")
    ? last
        .slice(last.lastIndexOf("(") + 1, -1)
        .replace(/^\?:/, "")
        .split("|")
    : null;
  // Behind alternatives that are in no group, the others end otherwise.
  if (group === null && last.lastIndexOf(")") < last.lastIndexOf("|")) return true;
  const words = group ?? [last.slice(trimmedEnd(last, WORD_SIGNS).length)];
  return words.some((word) => !/^[\w-]+$/.test(word) || page.endsWith(word));
}

const WORD_SIGNS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
/** Names with a dot in front: the page has none. */
const HIDDEN = /^(?:\/|\((?:\?:)?(?:\^\|\/|\/\|\^)\))\\\.(?:[\w-]*|\((?:\?:)?[\w|-]*\))(?:\.[*+])?\$?$/;

/** The text of an expression that says nothing else; null for others. A `^` in front does not count. */
function plainText(regex: string): string | null {
  const text = regex.replace(/^\^/, "").replace(/\\([./-])/g, "$1");
  return /^[\w./\-~]*$/.test(text) && !/(?<!\\)\./.test(regex) ? text : null;
}

/** Whether a text ends within the name of the page, or is in it. */
function reaches(text: string, page: string): boolean {
  if (page.includes(text)) return true;
  for (let length = Math.min(page.length, text.length); length > 0; length--)
    if (text.endsWith(page.slice(0, length))) return true;
  return false;
}

/** Characters of an expression that are read in a step. */
const CHARS_A_STEP = 16;
/** Beyond, one of them counts for all paths. */
const MAX_BARRING = 200;
const PAGE = "index.html";
