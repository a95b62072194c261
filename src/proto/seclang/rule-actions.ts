import { type PlacedText, refuseText } from "./placed-text.ts";
import { checkMacros } from "./rule-macros.ts";
import { TRANSFORMATIONS, UNSUPPORTED } from "./rule-names.ts";
import type { Disruptive, RuleControl, RuleEngine, RuleNames, SetVar } from "./rule-set.ts";
import { type ExpressionCheck, readTarget } from "./rule-variables.ts";

/** The third argument of a rule, read. What is not said is null, so that SecDefaultAction can say it. */
export class RuleActions {
  id = 0;
  phase: number | null = null;
  disruptive: Disruptive | "block" | null = null;
  /** Where the disruptive action is written. */
  disruptiveAt = 0;
  status: number | null = null;
  redirect = "";
  log: boolean | null = null;
  msg = "";
  logdata = "";
  readonly tags: string[] = [];
  severity = -1;
  ver = "";
  rev = "";
  maturity = 0;
  skip = 0;
  skipAfter = "";
  isChained = false;
  capture = false;
  multiMatch = false;
  readonly transformations: string[] = [];
  readonly setvars: SetVar[] = [];
  readonly controls: RuleControl[] = [];
}

/** Reads actions with commas between them: `id:1,phase:2,deny,msg:'a, b'`. */
export function readActions(text: PlacedText, check: ExpressionCheck): RuleActions {
  const actions = new RuleActions();
  for (const { name, value, at } of eachAction(text)) {
    const read = ACTIONS.get(name);
    if (read === undefined) {
      const cure = UNSUPPORTED.get(name);
      refuseText(text, at, `the action ${name} is not supported${cure === undefined ? "" : `: ${cure}`}`);
    }
    read(actions, { name, value, text, at, check });
  }
  return actions;
}

/** One action with its value, and its place in the text of all. */
interface Action {
  /** In lower case. */
  readonly name: string;
  readonly value: PlacedText;
  readonly text: PlacedText;
  readonly at: number;
  readonly check: ExpressionCheck;
}

function* eachAction(all: PlacedText): Generator<{ name: string; value: PlacedText; at: number }> {
  const { text } = all;
  for (let from = 0; from < text.length; ) {
    const end = actionEnd(all, from);
    const part = all.slice(from, end);
    const at = from + part.text.length - part.text.trimStart().length;
    from = end + 1;
    const word = part.trimmed();
    if (word.text === "") {
      // A comma after the last one is often written.
      if (end === text.length) return;
      refuseText(all, end, "expected an action in front of this comma");
    }
    const colon = word.text.indexOf(":");
    const name = (colon < 0 ? word.text : word.text.slice(0, colon)).trim();
    const value = colon < 0 ? word.slice(word.text.length) : withoutQuotes(word.slice(colon + 1).trimmed());
    yield { name: NAMES.get(name.toLowerCase()) ?? name, value, at };
  }
}

/** The comma that ends an action: not one between quotes. */
function actionEnd(all: PlacedText, from: number): number {
  const { text } = all;
  let quotedAt = -1;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "'") quotedAt = quotedAt < 0 ? at : -1;
    else if (text[at] === "," && quotedAt < 0) return at;
  }
  if (quotedAt >= 0) refuseText(all, quotedAt, "this ' is not closed: add one at the end of the value");
  return text.length;
}

function withoutQuotes(value: PlacedText): PlacedText {
  const { text } = value;
  if (text.length < 2 || text[0] !== "'" || !text.endsWith("'")) return value;
  return value.slice(1, text.length - 1).unescaped("'");
}

type ReadAction = (actions: RuleActions, action: Action) => void;

function disruptive(what: Disruptive | "block"): ReadAction {
  return (actions, { at }) => {
    actions.disruptive = what;
    actions.disruptiveAt = at;
  };
}

function integer(from: number, to: number, set: (actions: RuleActions, value: number) => void): ReadAction {
  return (actions, { name, value, text, at }) => {
    const number = Number(value.text);
    if (!/^\d{1,15}$/.test(value.text) || number < from || number > to)
      refuseText(text, at, `expected a whole number from ${from} to ${to} after ${name}:`);
    set(actions, number);
  };
}

function macros(set: (actions: RuleActions, value: string) => void): ReadAction {
  return (actions, { value }) => {
    checkMacros(value);
    set(actions, value.text);
  };
}

function text(set: (actions: RuleActions, value: string) => void): ReadAction {
  return (actions, { value }) => set(actions, value.text);
}

function flag(set: (actions: RuleActions) => void): ReadAction {
  return (actions) => set(actions);
}

const PHASES: Readonly<Record<string, number>> = { request: 2, response: 4, logging: 5 };
const SEVERITIES: readonly string[] = ["EMERGENCY", "ALERT", "CRITICAL", "ERROR", "WARNING", "NOTICE", "INFO", "DEBUG"];
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

const ACTIONS: ReadonlyMap<string, ReadAction> = new Map<string, ReadAction>([
  ["id", integer(1, 999_999_999_999, (actions, value) => (actions.id = value))],
  ["phase", readPhase],
  ["deny", disruptive("deny")],
  ["block", disruptive("block")],
  ["pass", disruptive("pass")],
  ["drop", disruptive("drop")],
  ["allow", readAllow],
  ["redirect", readRedirect],
  ["status", integer(200, 599, (actions, value) => (actions.status = value))],
  ["log", flag((actions) => (actions.log = true))],
  ["nolog", flag((actions) => (actions.log = false))],
  // The log is where audits go.
  ["auditlog", flag(() => {})],
  ["noauditlog", flag(() => {})],
  ["msg", macros((actions, value) => (actions.msg = value))],
  ["logdata", macros((actions, value) => (actions.logdata = value))],
  ["tag", text((actions, value) => actions.tags.push(value))],
  ["severity", readSeverity],
  ["ver", text((actions, value) => (actions.ver = value))],
  ["rev", text((actions, value) => (actions.rev = value))],
  ["maturity", integer(0, 9, (actions, value) => (actions.maturity = value))],
  ["accuracy", integer(0, 9, () => {})],
  ["skip", integer(1, 10_000, (actions, value) => (actions.skip = value))],
  ["skipAfter", text((actions, value) => (actions.skipAfter = value))],
  ["chain", flag((actions) => (actions.isChained = true))],
  ["capture", flag((actions) => (actions.capture = true))],
  ["multiMatch", flag((actions) => (actions.multiMatch = true))],
  ["t", readTransformation],
  ["setvar", readSetVar],
  ["ctl", readControl],
]);
const NAMES: ReadonlyMap<string, string> = new Map(
  [...ACTIONS.keys(), ...UNSUPPORTED.keys()].map((name) => [name.toLowerCase(), name]),
);

function readPhase(actions: RuleActions, { value, text: all, at }: Action): void {
  const phase = PHASES[value.text.toLowerCase()] ?? Number(value.text);
  if (phase === 5)
    refuseText(all, at, "phase 5 is not supported: what matches is in the log by itself; use phase 1 to 4");
  if (!/^[1-4]$/.test(String(phase))) refuseText(all, at, "expected a phase from 1 to 4");
  actions.phase = phase;
}

function readAllow(actions: RuleActions, { value, text: all, at }: Action): void {
  const what = value.text.toLowerCase();
  if (what !== "" && what !== "phase" && what !== "request")
    refuseText(all, at, "expected allow, allow:phase or allow:request");
  actions.disruptive = what === "" ? "allow" : what === "phase" ? "allow-phase" : "allow-request";
  actions.disruptiveAt = at;
}

function readRedirect(actions: RuleActions, { value, text: all, at }: Action): void {
  checkMacros(value);
  if (!REDIRECT.test(value.text)) refuseText(all, at, "expected where the redirect leads: https://host/path, or /path");
  actions.redirect = value.text;
  actions.disruptive = "redirect";
  actions.disruptiveAt = at;
}

function readSeverity(actions: RuleActions, { value, text: all, at }: Action): void {
  const severity = /^[0-7]$/.test(value.text) ? Number(value.text) : SEVERITIES.indexOf(value.text.toUpperCase());
  if (severity < 0) refuseText(all, at, `expected a severity: ${SEVERITIES.join(", ")}, or 0 to 7`);
  actions.severity = severity;
}

function readTransformation(actions: RuleActions, { value, text: all, at }: Action): void {
  const name = [...TRANSFORMATIONS].find((one) => one.toLowerCase() === value.text.toLowerCase());
  if (name === undefined) refuseText(all, at, `the transformation ${value.text} is not supported`);
  if (name === "none") actions.transformations.length = 0;
  else actions.transformations.push(name.replace("normalise", "normalize"));
}

function readSetVar(actions: RuleActions, { value, text: all, at }: Action): void {
  const removes = value.text.startsWith("!");
  const [, collection = "", name = "", assigned = "1"] = /^!?(\w+)\.([^=]*)(?:=(.*))?$/s.exec(value.text) ?? [];
  if (collection === "" || name.trim() === "") refuseText(all, at, "expected setvar:tx.name=value, or setvar:!tx.name");
  if (collection.toUpperCase() !== "TX") {
    const cure = UNSUPPORTED.get(collection.toUpperCase());
    refuseText(all, at, `the collection ${collection} is not supported: ${cure ?? "variables are set in tx"}`);
  }
  checkMacros(value);
  actions.setvars.push({ name: name.trim(), value: assigned, removes });
}

function readControl(actions: RuleActions, { value, text: all, at, check }: Action): void {
  const equals = value.text.indexOf("=");
  if (equals < 0) refuseText(all, at, "expected ctl:name=value, such as ctl:ruleRemoveById=100001");
  const name = value.text.slice(0, equals).trim().toLowerCase();
  const argument = value.slice(equals + 1).trimmed();
  const target = /^ruleremovetargetby(id|tag|msg)$/.exec(name);
  const removed = /^ruleremoveby(id|tag|msg)$/.exec(name);
  if (target !== null) actions.controls.push(removedTarget(target[1] as RuleNames["by"], argument, check));
  else if (removed !== null)
    actions.controls.push({ what: "remove", rules: readRuleNames(removed[1] as RuleNames["by"], argument) });
  else if (name === "ruleengine") actions.controls.push({ what: "engine", engine: readEngine(argument) });
  else if (name === "requestbodyprocessor")
    actions.controls.push({ what: "processor", processor: readProcessor(argument) });
  // The body is always there.
  else if (name !== "forcerequestbodyvariable") {
    const cure = [...UNSUPPORTED].find(([known]) => known.toLowerCase() === name)?.[1];
    const word = value.text.slice(0, equals);
    refuseText(all, at, `ctl:${word} is not supported${cure === undefined ? "" : `: ${cure}`}`);
  }
}

function removedTarget(by: RuleNames["by"], argument: PlacedText, check: ExpressionCheck): RuleControl {
  const semicolon = argument.text.indexOf(";");
  if (semicolon < 0)
    refuseText(argument, 0, "expected rules and a variable with a semicolon between them: 100001;ARGS:q");
  const rules = readRuleNames(by, argument.slice(0, semicolon).trimmed());
  return { what: "removeTarget", rules, target: readTarget(argument.slice(semicolon + 1).trimmed(), false, check) };
}

function readProcessor(argument: PlacedText): string {
  const processor = argument.text.toUpperCase();
  if (!["URLENCODED", "JSON", "XML", "MULTIPART"].includes(processor))
    refuseText(argument, 0, "expected URLENCODED, JSON, XML or MULTIPART");
  return processor;
}

/** Reads `On`, `DetectionOnly` or `Off`. */
export function readEngine(argument: PlacedText): RuleEngine {
  switch (argument.text.toLowerCase()) {
    case "on":
      return "on";
    case "off":
      return "off";
    case "detectiononly":
      return "detection";
    default:
      return refuseText(argument, 0, "expected On, DetectionOnly or Off");
  }
}

/** Reads a number or a range of numbers, a tag or a message. */
export function readRuleNames(by: RuleNames["by"], argument: PlacedText): RuleNames {
  if (by !== "id") return { by, from: 0, to: 0, text: argument.text };
  const range = /^(\d{1,12})(?:-(\d{1,12}))?$/.exec(argument.text);
  if (range === null) refuseText(argument, 0, "expected the number of a rule, or a range such as 100001-100009");
  return { by, from: Number(range[1]), to: Number(range[2] ?? range[1]), text: "" };
}

/** Statuses that a redirect may have; any other is 302. */
export function redirectStatus(status: number | null): number {
  return status !== null && REDIRECTS.includes(status) ? status : 302;
}

/** A host that no request chooses, or a path of this server. */
const REDIRECT = /^(?:https?:\/\/[^/%\s{}]+(?:[/%{}][!-~]*)?|\/(?![/\\])[!-~]*)$/;
