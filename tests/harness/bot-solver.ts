import { createHash, createHmac } from "node:crypto";

/** The task in a challenge's page; "" where it has none. */
export function taskOf(page: string): string {
  return /data-task="([^"]*)"/.exec(page)?.[1] ?? "";
}

/** Solves a task as the page does. docs/bots.md#tasks-and-passes */
export function solve(task: string): string {
  const bits = Number(task.split(".")[1]);
  for (let i = 0; ; i++) {
    const text = `${task}.${i.toString(36)}`;
    const word = createHash("sha256").update(text).digest().readUInt32BE(0);
    if (Math.clz32(word) >= bits) return text;
  }
}

/** What a signed text is about. */
export interface Signed {
  readonly purpose: "task" | "pass";
  readonly issuedS: number;
  readonly bits: number;
  readonly network: string;
  readonly host: string;
  readonly agent: string;
}

/** Signs as a gateway with this secret does. */
export function sign(secret: string, { purpose, issuedS, bits, network, host, agent }: Signed): string {
  const key = createHmac("sha256", secret).update("edge bots").digest("base64url");
  const issued = issuedS.toString(36);
  const text = `${purpose}\n${issued}\n${bits}\n${network}\n${host}\n${agent}`;
  const mac = createHmac("sha256", key).update(text).digest("base64url").slice(0, 22);
  return `${issued}.${bits}.${mac}`;
}
