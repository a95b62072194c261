import { macroParts } from "../../../proto/seclang/rule-macros.ts";
import type { RuleTransaction } from "./rule-transaction.ts";

/** A text in which macros stand for values of the request. */
export type MacroText = (transaction: RuleTransaction) => string;

/** Makes a text of a rule's. A macro of what is not there is "". */
export function macroText(text: string): MacroText {
  const parts = macroParts(text);
  if (parts.every((part) => typeof part === "string")) return () => text;
  return (transaction) => {
    let out = "";
    for (const part of parts) out += typeof part === "string" ? part : macroValue(transaction, part.name, part.key);
    return out;
  };
}

function macroValue(transaction: RuleTransaction, name: string, key: string): string {
  if (name === "TX") return transaction.variables.get(key) ?? "";
  if (name === "RULE") return ruleText(transaction, key);
  const values = transaction.valuesOf(name);
  if (key === "") return values[0]?.value ?? "";
  return values.find((one) => one.name.toLowerCase() === key)?.value ?? "";
}

function ruleText({ rule }: RuleTransaction, key: string): string {
  if (rule === null) return "";
  if (key === "id") return String(rule.id);
  if (key === "severity") return rule.severity < 0 ? "" : String(rule.severity);
  return key === "rev" ? rule.rev : key === "ver" ? rule.ver : rule.msg;
}
