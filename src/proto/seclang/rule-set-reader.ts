import { type Directive, readDirectives } from "./directive-reader.ts";
import { type PlacedText, RuleError, type RuleFault, refuseText } from "./placed-text.ts";
import { type RuleActions, readActions, readEngine, readRuleNames, redirectStatus } from "./rule-actions.ts";
import { IDLE_DIRECTIVES, OTHER_DIRECTIVES } from "./rule-names.ts";
import { type OperatorNeeds, readOperator } from "./rule-operator.ts";
import {
  type ChainedRule,
  type Disruptive,
  isNamed,
  type RuleEngine,
  type RuleEntry,
  type RuleLink,
  type RuleNames,
  type RuleOperator,
  type RuleSet,
} from "./rule-set.ts";
import { type RuleTargets, readTargets } from "./rule-variables.ts";

/** Rules and markers of one `waf.rules`, rules in a chain, files, how deep they include each other, lines of files of phrases. */
const MAX_RULES = 4096;
const MAX_RULE_CHAIN = 16;
const MAX_RULE_FILES = 256;
const MAX_RULE_INCLUDES = 8;
const MAX_RULE_LINES = 100_000;
/** Faults of rules that are told at a time. */
const MAX_RULE_FAULTS = 1000;

/** Where rules and what they refer to come from. */
export interface RuleFiles {
  /** The files that a name or a pattern with `*` means, in order, beside the file `from`; none if there are none. */
  matching(pattern: string, from: string): readonly string[];
  /** What a file holds; an Error with the reason if it cannot be read. @param file absolute, or one of `matching` */
  read(file: string): string | Error;
}

/** Why an expression is none, or takes more than linear time; "" if it is in order. */
type ExpressionJudge = (source: string) => {
  readonly fault: string;
  readonly literals: readonly string[] | null;
};

/** Rules as they were read, with the fault in them. */
interface ReadRules {
  readonly set: RuleSet;
  readonly faults: readonly RuleFault[];
}

/**
 * Reads files of rules, one after the other, as one set: what follows later may take away rules that came before.
 * docs/waf.md#rules-of-your-own
 * @param names absolute
 */
export function readRules(names: readonly string[], files: RuleFiles, judge: ExpressionJudge): ReadRules {
  const reader = new RuleSetReader(files, judge);
  for (const name of names) reader.readFile(name);
  return reader.end(names);
}

class RuleSetReader {
  private readonly faults: RuleFault[] = [];
  private readonly files: RuleFiles;
  private readonly needs: OperatorNeeds;
  private readonly defaults: (RuleActions | undefined)[] = [];
  private readonly ids: Map<number, string> = new Map();
  private readonly judged: Map<string, ReturnType<ExpressionJudge>> = new Map();
  private readonly phrases: Map<string, readonly string[]> = new Map();
  private entries: MutableEntry[] = [];
  private engine: RuleEngine = "on";
  private open: OpenChain | null = null;
  private depth = 0;
  private filesRead = 0;
  private linesRead = 0;

  constructor(files: RuleFiles, judge: ExpressionJudge) {
    this.files = files;
    this.needs = {
      check: (source, text, at) => {
        const verdict = this.judged.get(source) ?? judge(source);
        this.judged.set(source, verdict);
        if (verdict.fault !== "") refuseText(text, at, `this expression cannot be used: ${verdict.fault}`);
        return verdict.literals;
      },
      lines: (name) => this.linesOf(name),
    };
  }

  readFile(name: string): void {
    const text = this.files.read(name);
    if (text instanceof Error) {
      this.fault({ file: name, line: 1, col: 1, message: `this file cannot be read: ${text.message}` });
      return;
    }
    for (const directive of readDirectives(name, text, (fault) => this.fault(fault))) this.take(directive);
  }

  end(names: readonly string[]): ReadRules {
    this.endChain();
    const markers = new Set(this.entries.flatMap((entry) => ("marker" in entry ? [entry.marker] : [])));
    for (const entry of this.entries) {
      if ("marker" in entry || entry.skipAfter === "" || markers.has(entry.skipAfter)) continue;
      const message = `no SecMarker is called ${JSON.stringify(entry.skipAfter)}: add one, or fix the name in skipAfter`;
      this.fault({ ...entry.at.placeOf(0), message });
    }
    const entries: RuleEntry[] = this.entries.map((entry) => {
      if ("marker" in entry) return entry;
      const { at: _, ...rule } = entry;
      return rule;
    });
    return { set: { files: names, engine: this.engine, entries }, faults: this.faults };
  }

  private fault(fault: RuleFault): void {
    if (this.faults.length < MAX_RULE_FAULTS) this.faults.push(fault);
  }

  private take(directive: Directive): void {
    const name = directive.name.text.toLowerCase();
    try {
      const read = DIRECTIVES.get(name);
      if (read !== undefined) return read(this, directive);
      if (IDLE_DIRECTIVES.has(name)) return;
      const cure = OTHER_DIRECTIVES.get(name);
      refuseText(
        directive.name,
        0,
        `the directive ${directive.name.text} is not supported${cure === undefined ? "" : `: ${cure}`}`,
      );
    } catch (error) {
      if (!(error instanceof RuleError)) throw error;
      this.fault({ ...error.place, message: error.message });
      // What follows in the chain would be taken for a rule by itself.
      if (name === "secrule" || name === "secaction") this.passChain(directive);
    }
  }

  takeRule(directive: Directive, hasOperator: boolean): void {
    const { words, end, name } = directive;
    if (this.open?.isBroken) {
      if (!isChained(words[hasOperator ? 2 : 0])) this.open = null;
      return;
    }
    const wanted = hasOperator ? 'variables, an operator and actions: SecRule ARGS:q "@rx ^a" "id:1,deny"' : "actions";
    const most = hasOperator ? 3 : 1;
    if (words.length === 0 || (hasOperator && words.length === 1)) refuseText(end, 0, `expected ${wanted}`);
    if (words.length > most) refuseText(words[most]!, 0, `one argument too many: put quotes around ${wanted}`);
    const { check } = this.needs;
    const targets = hasOperator ? readTargets(words[0]!, check) : NO_TARGETS;
    const operator = hasOperator ? readOperator(words[1]!, this.needs) : null;
    const text = words[hasOperator ? 2 : 0] ?? end;
    const actions = readActions(text, check);
    const link = linkOf(actions, targets, operator);
    if (this.open === null) this.begin(name, text, actions, link);
    else this.goOn(text, actions, link);
  }

  /** The first rule of a chain, or one by itself. */
  private begin(name: PlacedText, text: PlacedText, actions: RuleActions, link: RuleLink): void {
    if (actions.id === 0) refuseText(name, 0, "a rule needs a number of its own among its actions: id:100001");
    const known = this.ids.get(actions.id);
    if (known !== undefined)
      refuseText(text, 0, `there is a rule ${actions.id} already, at ${known}: take another number`);
    const { file, line } = name.placeOf(0);
    this.ids.set(actions.id, `${file}:${line}`);
    if (this.entries.length >= MAX_RULES) refuseText(name, 0, `more than ${MAX_RULES} rules: use fewer`);
    this.entries.push(this.ruleOf(name, actions, link));
    if (actions.isChained) this.open = { isBroken: false, at: name };
  }

  private goOn(text: PlacedText, actions: RuleActions, link: RuleLink): void {
    const rule = this.entries.at(-1) as MutableRule;
    if (actions.disruptive !== null)
      refuseText(text, actions.disruptiveAt, "only the first rule of a chain says what becomes of the request");
    if (rule.links.length >= MAX_RULE_CHAIN)
      refuseText(text, 0, `more than ${MAX_RULE_CHAIN} rules in a chain: use fewer`);
    rule.links.push(link);
    if (!actions.isChained) this.open = null;
  }

  /** A rule of a chain is wrong: the rest of the chain is passed over. */
  private passChain({ name, words }: Directive): void {
    const goesOn = words.some((word, i) => i > 0 && isChained(word));
    this.open = goesOn ? { isBroken: true, at: name } : null;
  }

  private endChain(): void {
    if (this.open !== null && !this.open.isBroken) {
      this.fault({
        ...this.open.at.placeOf(0),
        message: "the chain ends here without a last rule: take chain away, or add one",
      });
    }
    this.open = null;
  }

  private ruleOf(name: PlacedText, actions: RuleActions, link: RuleLink): MutableRule {
    const phase = actions.phase ?? 2;
    const byDefault = this.defaults[phase];
    const said = actions.disruptive;
    const disruptive = said === "block" || said === null ? (byDefault?.disruptive ?? "pass") : said;
    const status = actions.status ?? byDefault?.status ?? null;
    const { file, line } = name.placeOf(0);
    return {
      at: name,
      id: actions.id,
      phase,
      place: `${file}:${line}`,
      disruptive: disruptive as Disruptive,
      status: disruptive === "redirect" ? redirectStatus(status) : (status ?? 403),
      redirect: actions.redirect === "" ? (byDefault?.redirect ?? "") : actions.redirect,
      log: actions.log ?? byDefault?.log ?? true,
      msg: actions.msg,
      logdata: actions.logdata,
      tags: actions.tags,
      severity: actions.severity,
      ver: actions.ver,
      rev: actions.rev,
      maturity: actions.maturity,
      skip: actions.skip,
      skipAfter: actions.skipAfter,
      links: [link],
    };
  }

  takeMarker({ words, end }: Directive): void {
    const [name] = words;
    if (name === undefined || name.text === "") refuseText(end, 0, "expected a name, such as SecMarker END-OF-CHECKS");
    this.entries.push({ marker: name.text });
  }

  takeDefaults({ words, end }: Directive): void {
    const [text] = words;
    if (text === undefined)
      refuseText(end, 0, 'expected actions, such as SecDefaultAction "phase:2,log,deny,status:403"');
    const actions = readActions(text, this.needs.check);
    if (actions.phase === null) refuseText(text, 0, "expected a phase among these actions, such as phase:2");
    if (actions.disruptive === null || actions.disruptive === "block")
      refuseText(text, 0, "expected deny, pass, drop, redirect or allow among these actions");
    if (actions.id > 0 || actions.msg !== "" || actions.transformations.length > 0 || actions.isChained)
      refuseText(text, 0, "id, msg, t and chain belong to a rule");
    this.defaults[actions.phase] = actions;
  }

  takeEngine({ words, end }: Directive): void {
    this.engine = readEngine(words[0] ?? end);
  }

  takeRemoved({ words, end }: Directive, by: RuleNames["by"]): void {
    if (words.length === 0) refuseText(end, 0, "expected rules after the directive");
    for (const word of words.flatMap((one) => (by === "id" ? commaParts(one) : [one]))) {
      const names = readRuleNames(by, word);
      this.entries = this.entries.filter((entry) => "marker" in entry || !isNamed(names, entry));
    }
  }

  takeTargetChange({ words, end }: Directive, by: RuleNames["by"]): void {
    const [which, text] = words;
    if (which === undefined || text === undefined)
      refuseText(end, 0, "expected rules and variables, such as 100001 !ARGS:q");
    const names = readRuleNames(by, which);
    const parts = commaParts(text).map((one) => readTargets(one, this.needs.check));
    for (const entry of this.entries) {
      if ("marker" in entry || !isNamed(names, entry)) continue;
      const [first, ...others] = entry.links;
      const targets = [...first!.targets, ...parts.flatMap((part) => part.targets)];
      const excluded = [...first!.excluded, ...parts.flatMap((part) => part.excluded)];
      entry.links = [{ ...first!, targets, excluded }, ...others];
    }
  }

  takeInclude({ words, end }: Directive): void {
    const [pattern] = words;
    if (pattern === undefined) refuseText(end, 0, "expected a file, such as Include rules/*.conf");
    const found = this.files.matching(pattern.text, pattern.source.file);
    if (found.length === 0) refuseText(pattern, 0, `no file ${JSON.stringify(pattern.text)} beside this one`);
    if (this.depth >= MAX_RULE_INCLUDES)
      refuseText(pattern, 0, `files include each other more than ${MAX_RULE_INCLUDES} deep`);
    this.depth++;
    for (const file of found) {
      if (++this.filesRead > MAX_RULE_FILES) refuseText(pattern, 0, `more than ${MAX_RULE_FILES} files: use fewer`);
      this.readFile(file);
    }
    this.depth--;
  }

  /** The lines of a file of phrases or networks. */
  private linesOf(name: PlacedText): readonly string[] {
    const [file = name.text] = this.files.matching(name.text, name.source.file);
    const known = this.phrases.get(file);
    if (known !== undefined) return known;
    const text = this.files.read(file);
    if (text instanceof Error)
      refuseText(name, 0, `the file ${JSON.stringify(name.text)} cannot be read: ${text.message}`);
    const lines = text.split("\n").map((line) => line.trim());
    const kept = lines.filter((line) => line !== "" && line[0] !== "#");
    this.linesRead += kept.length;
    if (this.linesRead > MAX_RULE_LINES)
      refuseText(name, 0, `more than ${MAX_RULE_LINES} lines in all such files: use fewer`);
    this.phrases.set(file, kept);
    return kept;
  }
}

interface OpenChain {
  /** Whether one of its rules is wrong, so that the chain is passed over. */
  readonly isBroken: boolean;
  readonly at: PlacedText;
}

/** A rule to which others of its chain are added. */
type MutableRule = Omit<ChainedRule, "links"> & { links: RuleLink[]; readonly at: PlacedText };
type MutableEntry = MutableRule | { readonly marker: string };

function isChained(actions: PlacedText | undefined): boolean {
  return actions !== undefined && /(^|,)\s*chain\s*(,|$)/i.test(actions.text);
}

function linkOf(actions: RuleActions, { targets, excluded }: RuleTargets, operator: RuleOperator | null): RuleLink {
  const { transformations, multiMatch, capture, setvars, controls, msg, logdata } = actions;
  return { targets, excluded, operator, transformations, multiMatch, capture, setvars, controls, msg, logdata };
}

function commaParts(word: PlacedText): PlacedText[] {
  return [...word.text.matchAll(/[^,\s]+/g)].map((part) => word.slice(part.index, part.index + part[0].length));
}

type ReadDirective = (reader: RuleSetReader, directive: Directive) => void;

const DIRECTIVES: ReadonlyMap<string, ReadDirective> = new Map<string, ReadDirective>([
  ["secrule", (reader, directive) => reader.takeRule(directive, true)],
  ["secaction", (reader, directive) => reader.takeRule(directive, false)],
  ["secmarker", (reader, directive) => reader.takeMarker(directive)],
  ["secdefaultaction", (reader, directive) => reader.takeDefaults(directive)],
  ["secruleengine", (reader, directive) => reader.takeEngine(directive)],
  ["secruleremovebyid", (reader, directive) => reader.takeRemoved(directive, "id")],
  ["secruleremovebytag", (reader, directive) => reader.takeRemoved(directive, "tag")],
  ["secruleremovebymsg", (reader, directive) => reader.takeRemoved(directive, "msg")],
  ["secruleupdatetargetbyid", (reader, directive) => reader.takeTargetChange(directive, "id")],
  ["secruleupdatetargetbytag", (reader, directive) => reader.takeTargetChange(directive, "tag")],
  ["secruleupdatetargetbymsg", (reader, directive) => reader.takeTargetChange(directive, "msg")],
  ["include", (reader, directive) => reader.takeInclude(directive)],
]);
const NO_TARGETS: RuleTargets = { targets: [], excluded: [] };
