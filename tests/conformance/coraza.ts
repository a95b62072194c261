import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../../src/core/fault.ts";
import type { WafIncident } from "../../src/features/waf/incident.ts";
import { RuleSwitches } from "../../src/features/waf/rule-switches.ts";
import { RuleFirewall } from "../../src/features/waf/seclang/rule-firewall.ts";
import { questionedExchange } from "../../src/features/waf/waf-explanation.ts";
import { ClientPeer } from "../../src/message/client-peer.ts";
import { Exchange } from "../../src/message/exchange.ts";
import { judgeRuleExpression } from "../../src/proto/expression/expression.ts";
import { readRules } from "../../src/proto/seclang/rule-set-reader.ts";
import { bodyReading } from "../harness/waf-bodies.ts";
import { ENFORCE } from "../unit/features/waf/waf-settings.ts";

/** A text of rules and a request that they judge. */
export interface RuledRequest {
  readonly rules: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  readonly client: string;
  /** Of the response; 0 where there is none. */
  readonly status: number;
  readonly fields: readonly (readonly [string, string])[];
}

/** What becomes of it. */
export interface RuleVerdict {
  /** `deny`, `drop`, `redirect`; "" where it passes. */
  readonly action: string;
  readonly status: number;
  readonly rule: number;
  /** Why the rules were not taken; "" where they were. */
  readonly error: string;
}

/** What this gateway says. */
export function judgeHere(one: RuledRequest): RuleVerdict {
  const files = { matching: () => [], read: () => Buffer.from(one.rules).toString("latin1") };
  const { set, faults } = readRules(["rules.conf"], files, judgeRuleExpression);
  if (faults.length > 0) return { ...PASSED, error: faults[0]!.message };
  const incidents: WafIncident[] = [];
  const listener = {
    onInspected() {},
    onIncident: (incident: WafIncident) => void incidents.push(incident),
    onBudgetExhausted() {},
    onOverLimit() {},
  };
  const parts = { settings: ENFORCE, switches: new RuleSwitches([], []), listener, clock: { nowMs: 0 } };
  const firewall = new RuleFirewall(set, parts);
  const headers = one.headers.map(([name, value]) => `${name}: ${value}`);
  const body = Buffer.from(one.body, "latin1");
  const ex = questionedExchange({ method: one.method, target: one.target, headers, body });
  if (!(ex instanceof Exchange)) throw new Error(`no request: ${one.target}`);
  ex.client = new ClientPeer(one.client, false, 80);
  const fault = judge(firewall, ex, body, one);
  if (fault === Fault.None) return PASSED;
  const rule = Number(incidents.findLast(({ action }) => action === "blocked")!.ruleId);
  if (fault === Fault.RuleDropped) return { action: "drop", status: 0, rule, error: "" };
  if (fault === Fault.WafBlocked) return { action: "deny", status: 403, rule, error: "" };
  const [status = "", location = ""] = ex.detail.split("\n");
  return { action: location === "" ? "deny" : "redirect", status: Number(status), rule, error: "" };
}

function judge(firewall: RuleFirewall, ex: Exchange, body: Buffer, { status, fields }: RuledRequest): Fault {
  const head = firewall.judgeHead(ex);
  if (head !== Fault.None) return head;
  const whole = ex.request.hasBody() ? firewall.judgeBody(ex, bodyReading(ex.request.headers, body)) : Fault.None;
  if (whole !== Fault.None || status === 0) return whole;
  ex.response.status = status;
  ex.response.headers.resetOwn();
  for (const [name, value] of fields) ex.response.headers.add(name, value);
  return firewall.judgeResponse(ex);
}

const PASSED: RuleVerdict = { action: "", status: 0, rule: 0, error: "" };

/** Builds the program that asks Coraza; null where Go or its modules cannot be had, which is said in one line. */
export async function buildCoraza(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: Coraza needs go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-coraza-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, "coraza");
  // Expressions as ModSecurity has them: ^ and $ are the ends of the value.
  const build = Bun.spawn([go, "build", "-tags", "coraza.rule.no_regex_multiline", "-o", binary, "."], {
    cwd: join(import.meta.dir, "coraza"),
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  if ((await build.exited) === 0) return binary;
  console.log("skipped: the modules of Coraza cannot be had");
  return null;
}

/** What Coraza says. @param binary as `buildCoraza` gives it */
export async function judgeThere(binary: string, all: readonly RuledRequest[]): Promise<RuleVerdict[]> {
  const child = Bun.spawn([binary], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  for (const one of all) {
    const body = Buffer.from(one.body, "latin1").toString("base64");
    child.stdin.write(`${JSON.stringify({ ...one, body })}\n`);
  }
  await child.stdin.end();
  const lines = (await new Response(child.stdout).text()).trimEnd().split("\n");
  return lines.map((line) => {
    const { action = "", status = 0, rule = 0, error = "" } = JSON.parse(line) as Partial<RuleVerdict>;
    return { action, status: action === "drop" ? 0 : status, rule, error };
  });
}

/** Writes the Core Rule Set to a folder, as Coraza's module has it. */
export async function writeCoreRules(binary: string, folder: string): Promise<void> {
  const child = Bun.spawn([binary, "rules", folder], { stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error("the Core Rule Set could not be written");
}

const BUILD_MS = 300_000;
