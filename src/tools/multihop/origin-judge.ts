import type { Scenario } from "./catalogue.ts";
import { Concern, type Discrepancy } from "./finding.ts";
import { quotedText } from "./quoted-text.ts";
import { isRefused } from "./refusal.ts";
import type { ProbeRound, ScenarioSight } from "./scenario-result.ts";
import { Requirement } from "./vector.ts";
import type { OriginSight, SeenRequest } from "./witness.ts";

/** A request that an origin must have been given exactly once. */
interface Due {
  readonly what: string;
  /** What its client got; 0 when nothing came. */
  readonly status: number;
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

/** Compares what an origin's own parser has seen with what it should have been given. */
export function judgeOrigin(scenario: Scenario, sight: ScenarioSight, origin: OriginSight): Discrepancy[] {
  const due = dueRequests(scenario, sight);
  const tokens = new Set([...due.map(({ token }) => token), ...sight.rounds.map(({ token }) => token)]);
  const strangers = origin.requests.filter(({ token }) => !tokens.has(token));
  return [
    ...due.flatMap((each) => judgeDue(each, origin.requests)),
    ...(scenario.vector.requirement === Requirement.Refused
      ? sight.rounds.flatMap((round) => judgeAttack(round, origin.requests))
      : origin.requests.filter(({ token }) => tokens.has(token)).flatMap(judgeHead)),
    ...strangers.map((each) => desync(`the origin ran a request that no client sent: ${startOf(each)}`)),
    ...origin.refused.map((text) => desync(`the origin was given bytes that are not a request: ${quotedText(text)}`)),
    ...origin.unfinished.map(({ connection, bytes }): Discrepancy => {
      const text = `connection ${connection} to the origin is kept in the middle of a request with ${bytes} bytes unread`;
      return { concern: Concern.Pool, text };
    }),
  ];
}

function dueRequests({ vector }: Scenario, { rounds, canary }: ScenarioSight): Due[] {
  const nothing = Buffer.alloc(0);
  const get = (what: string, token: string, path: string, status: number): Due => {
    return { what, status, token, method: "GET", path, body: nothing };
  };
  const due = [get("canary", canary.token, "/canary", canary.status)];
  for (const { outcome, token, control, sweep } of rounds) {
    const post = { what: "benign request", method: "POST", path: "/echo" };
    due.push(...sweep.map((each) => ({ ...post, token: each.token, body: each.body, status: each.status })));
    if (outcome.hasControl) due.push(get("benign request", control, "/health", 200));
    if (vector.forwards === undefined || outcome.fault !== "") continue;
    const { method, path, body } = vector.forwards;
    due.push({ what: outcome.name, status: outcome.status, token, method, path, body: body(token) });
  }
  return due;
}

function judgeDue(due: Due, requests: readonly SeenRequest[]): Discrepancy[] {
  const seen = requests.filter(({ token }) => token === due.token);
  // What the gateway answered itself need not have been seen; that is held against it elsewhere.
  if (due.status !== 200) {
    const isLost = due.status === 0 && seen.length > 0;
    return isLost ? [desync(`the origin ran the ${due.what}, whose client got no response`)] : [];
  }
  if (seen.length !== 1) return [desync(`the origin saw the ${due.what} ${seen.length} times`)];
  const { method, target, body } = seen[0]!;
  if (method !== due.method || target !== due.path) {
    return [desync(`the ${due.what} reached the origin as ${startOf(seen[0]!)}`)];
  }
  if (body.equals(due.body)) return [];
  return [
    desync(`the ${due.what} reached the origin with ${body.length} other bytes than the ${due.body.length} sent`),
  ];
}

function judgeAttack({ outcome, token }: ProbeRound, requests: readonly SeenRequest[]): Discrepancy[] {
  const seen = requests.filter((each) => each.token === token);
  if (seen.length === 0) return [];
  const findings: Discrepancy[] = [
    { concern: Concern.Vector, text: `${outcome.name}: the origin was given the attack` },
  ];
  if (isRefused(outcome)) findings.push(desync(`${outcome.name}: refused to the client, run by the origin`));
  if (seen.length > 1) findings.push(desync(`${outcome.name}: the origin ran it ${seen.length} times`));
  return findings;
}

/** A forwarded head must be clean. VECTOR-08: no header whose name begins with `:`. docs/tools.md#multihop */
function judgeHead({ head }: SeenRequest): Discrepancy[] {
  const odd = head.split(/\r?\n/).find((line) => line.startsWith(":"));
  if (odd === undefined) return [];
  return [{ concern: Concern.Vector, text: `the origin was given the line ${quotedText(odd)}` }];
}

function startOf({ method, target }: SeenRequest): string {
  return quotedText(`${method} ${target}`);
}

function desync(text: string): Discrepancy {
  return { concern: Concern.Desync, text };
}
