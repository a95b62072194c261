import { compileExpression, isExpressionFault } from "../proto/expression/expression.ts";
import { quote } from "./config-fault.ts";
import { TEXT } from "./form.ts";
import { type Kind, piece, Wrong } from "./piece.ts";
import { text } from "./scalars.ts";

/** An expression that a path is compared with. docs/routing.md#expressions */
export function expression(): Kind<string> {
  const line = text("an expression such as ^/old/(.*)$");
  return piece((value) => {
    const read = line["~run"]({ value }, {});
    if (read.issues !== undefined) return new Wrong(read.issues[0].message);
    const source = String(read.value);
    const compiled = compileExpression(source);
    return isExpressionFault(compiled) ? new Wrong(expressionFault(source, compiled.fault)) : source;
  }, TEXT);
}

/** The text of a fault about an expression. */
export function expressionFault(source: string, fault: string): string {
  return `expected an expression that takes linear time, found ${quote(source)}: ${fault}`;
}
