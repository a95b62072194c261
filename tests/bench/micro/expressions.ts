// Expressions of routes: with and without captures, on paths as they come.
import { compileExpression, type Expression } from "../../../src/proto/expression/expression.ts";
import { bench } from "../micro.ts";

for (const [source, text] of [
  ["^/old/(.*)$", "/old/products/shoes/red"],
  ["^/shop/([a-z0-9-]+)/item/([0-9]+)$", "/shop/red-shoes-12/item/99812"],
  ["(?i)mobile|android|iphone", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15"],
] as const) {
  const expression = compileExpression(source) as Expression;
  bench(`expression, test: ${source}`, () => (expression.test(text) ? 1 : 0));
  bench(`expression, groups: ${source}`, () => expression.match(text)?.length ?? 0);
}
