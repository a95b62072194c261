import type { FormRow } from "../../config/form.ts";
import { FAULT_DETAILS, type FaultDetailRow, isOfOrigin } from "../../core/fault-detail-rows.ts";
import { FAULTS, type FaultRow, faultRow } from "../../core/fault-rows.ts";
import { reasonOf } from "../../core/status.ts";
import { EVENTS, type EventName, fieldTexts } from "../../facts/events.ts";
import { METRICS, type MetricName } from "../../facts/metrics.ts";
import { WAF_RULES } from "../../features/waf/rule-table.ts";
import { ERROR_GUIDE, type ErrorGuide } from "../../help/error-guide.ts";
import { formText, KeyList, type ListedKey } from "../../loading/key-list.ts";
import { anchorOf } from "./anchor.ts";
import { pageOfKey } from "./key-pages.ts";

/** One thing with a name that `edge help NAME` explains. */
export interface HelpTopic {
  readonly name: string;
  /** What kind of thing it is: "an error of a command", "a key of config.yaml". */
  readonly kind: string;
  /** What it tells and what to do, in paragraphs. */
  readonly text: string;
  /** Where it stands in docs, with its anchor; the page about its subject after it, if that is another. */
  readonly pages: readonly string[];
}

/** Every error, refusal, event, metric, key and rule that has a name. docs/tools.md#help */
export class HelpTopics {
  readonly keys: KeyList = new KeyList();

  /** All of them; a name may be there twice, as that of an event and of a refusal. */
  all(): readonly HelpTopic[] {
    return [
      ...Object.entries<ErrorGuide>(ERROR_GUIDE).map(errorTopic),
      ...FAULTS.slice(1).map(refusalTopic),
      ...FAULT_DETAILS.slice(1).map(detailTopic),
      ...statusTopics(),
      ...Object.keys(EVENTS).map((name) => eventTopic(name as EventName)),
      ...Object.keys(METRICS).map((name) => metricTopic(name as MetricName)),
      ...WAF_RULES.map(ruleTopic),
      ...this.keys.keys.map((key) => this.keyTopic(key)),
    ];
  }

  /**
   * What explains a name: all that have it, else the keys that end with it.
   * @param name `port-in-use`, `waf_blocked`, `gateway_requests_total`, `SQLI-001`, `server.tls.port`, `tls.port`
   */
  find(name: string): readonly HelpTopic[] {
    const all = this.all();
    const exact = all.filter((topic) => topic.name === name);
    if (exact.length > 0) return exact;
    const key = this.keys.ofFault(name);
    // A key of a section that has the keys of another.
    if (key.endsWith(name.slice(name.lastIndexOf(".")))) return all.filter((topic) => topic.name === key);
    return all.filter((topic) => topic.name.endsWith(`.${name}`));
  }

  private keyTopic(key: ListedKey): HelpTopic {
    const { path, file, types } = key;
    const of = types.length === 0 ? "" : ` (of routes of the type ${types.join(", ")})`;
    const inner = innerNames(this.keys, path);
    const text = [keyText(key), inner === "" ? "" : `Keys in it: ${inner}.`].filter((part) => part !== "").join("\n\n");
    return {
      name: path,
      kind: `a key of ${file}${of}`,
      text,
      pages: [`docs/keys.md#${anchorOf(path)}`, `docs/${pageOfKey(path)}`],
    };
  }
}

/** The purpose of a key, its type and its default. */
export function keyText({ row }: ListedKey): string {
  const about = [`Type: ${formText(row.type.form)}.`, defaultText(row)].filter((part) => part !== "").join(" ");
  const doc = row.doc === undefined || row.doc === "" ? "" : `${wholeSentence(row.doc)}\n\n`;
  const restart = row.restart === undefined ? "" : "\n\nA change takes effect at the next restart, not at a reload.";
  return `${doc}${about}${restart}`;
}

/** The names of the keys right below a section; of one that has those of another, where they are. */
export function innerNames(keys: KeyList, path: string): string {
  const same = keys.sameAs(path);
  if (same !== "") return `those of \`${same}\``;
  const prefix = `${path}.`;
  return keys.keys
    .filter((one) => one.path.startsWith(prefix) && !one.path.slice(prefix.length).includes("."))
    .map((one) => `\`${one.path.slice(prefix.length)}\``)
    .join(", ");
}

function defaultText(row: FormRow): string {
  if (row.required !== undefined) return `Required: ${row.required}.`;
  if (row.example !== undefined) return `No default; for example \`${JSON.stringify(row.example)}\`.`;
  if (row.default === undefined || row.default === "") return "";
  return `Default: \`${typeof row.default === "string" ? row.default : JSON.stringify(row.default)}\`.`;
}

/** A text as a sentence, with a full stop. A value at its beginning (`true: …`) and the name of the gateway keep their letters. */
export function wholeSentence(text: string): string {
  const word = text.split(" ", 1)[0]!;
  const isName = ["true", "false", "edge"].includes(word) || [...word].some((sign) => ":_/".includes(sign));
  const whole = isName ? text : text[0]!.toUpperCase() + text.slice(1);
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

function errorTopic([name, { cause, cure, page }]: [string, ErrorGuide]): HelpTopic {
  const pages = [`docs/errors.md#${anchorOf(name)}`, `docs/${page}`];
  return { name, kind: "an error of a command", text: `${cause}\n\nWhat you can do. ${cure}`, pages };
}

function refusalTopic({ label, status, message, close, cause, cure, page }: FaultRow): HelpTopic {
  return {
    name: label,
    kind: "a refusal",
    text: `${refusalText(status, message, close)}\n\n${cause}\n\nWhat you can do. ${cure}`,
    pages: [`docs/errors.md#${anchorOf(label)}`, `docs/${page}`],
  };
}

/** Its heading in docs/errors.md: some refusals have the same name. */
export function detailHeading({ label }: FaultDetailRow): string {
  return `${label} of an origin`;
}

/** The effect of a cause on the request. */
export function detailText({ fault }: FaultDetailRow): string {
  return `Status ${faultRow(fault).status}, unless another attempt helps; within a body, the response is cut.`;
}

function detailTopic(row: FaultDetailRow): HelpTopic {
  const { label, cause, cure, fault } = row;
  return {
    name: label,
    kind: `a cause of a ${faultRow(fault).status}`,
    text: `${detailText(row)}\n\n${cause}\n\nWhat you can do. ${cure}`,
    pages: [`docs/errors.md#${anchorOf(detailHeading(row))}`, DEBUG_PAGE],
  };
}

/** Each status that the gateway gives by itself, with all its causes. */
function statusTopics(): readonly HelpTopic[] {
  const statuses = new Set(FAULTS.map(({ status }) => status).filter((status) => status !== 0));
  return [...statuses].map((status) => ({
    name: String(status),
    kind: `${reasonOf(status)}, a status of responses`,
    text: statusText(status),
    pages: [
      status === GATEWAY_TIMEOUT || status === BAD_GATEWAY ? DEBUG_PAGE : "docs/troubleshooting.md#other-statuses",
    ],
  }));
}

function statusText(status: number): string {
  const details = FAULT_DETAILS.slice(1).filter(({ fault }) => faultRow(fault).status === status);
  // A fault that has causes is listed by them; a time limit may be reached by itself, too.
  const faults = FAULTS.filter(
    (row, fault) => row.status === status && (!isOfOrigin(fault) || status === GATEWAY_TIMEOUT),
  );
  const causes = [...details, ...faults].map(({ label, cause, cure }) => `${label}: ${cause} What you can do. ${cure}`);
  return [
    `If the gateway gives it, \`fault_detail\` in the access line has the cause: \`edge logs --status ${status}\`. If that is null, the origin has sent this status.`,
    ...causes,
  ].join("\n\n");
}

const BAD_GATEWAY = 502;
const GATEWAY_TIMEOUT = 504;
const DEBUG_PAGE = "docs/troubleshooting.md#debug-a-502";

/** What a client sees of a refusal. */
export function refusalText(status: number, message: string, close: boolean): string {
  if (status === 0) return "No response: the connection or the stream is closed.";
  const said = message === "" ? "" : `, "${message}"`;
  return `Status ${status}${said}; the connection is ${close ? "closed" : "kept"}.`;
}

function eventTopic(name: EventName): HelpTopic {
  const { meaning, advice } = EVENTS[name];
  const fields = fieldTexts(EVENTS[name]).join("; ");
  const text = [meaning, `Fields. ${fields}.`, `What you can do. ${advice}`].join("\n\n");
  return { name, kind: "an event of the log", text, pages: [`docs/events.md#${anchorOf(name)}`] };
}

function metricTopic(name: MetricName): HelpTopic {
  const { title, labels, advice } = METRICS[name];
  const of = labels.length === 0 ? "" : `, by ${labels.join(", ")}`;
  const text = `${title}${of}.\n\nWhat you can do. ${advice}`;
  return { name, kind: "a metric", text, pages: [`docs/metrics.md#${anchorOf(name)}`] };
}

function ruleTopic({ id, score, description }: (typeof WAF_RULES)[number]): HelpTopic {
  const text = `${wholeSentence(description)} A match adds ${score} to the score of the request.`;
  return { name: id, kind: "a rule of the firewall", text, pages: ["docs/waf.md#rules"] };
}
