// What the house rules want to know of each TypeScript file, read from the compiler's own syntax tree.
import { dirname, join, normalize, relative } from "node:path";
import { SyntaxKind } from "typescript/unstable/ast";
import { API } from "typescript/unstable/async";
import { PROJECT_FILES, ROOT } from "./project-files.ts";

/** One import or re-export. */
export interface Import {
  /** A path from the top of the repository for one of our files, else the name of a package or module. */
  readonly target: string;
  readonly isOurs: boolean;
  /** Erased by the compiler. */
  readonly isTypeOnly: boolean;
  readonly line: number;
}

/** A function, method or arrow. */
export interface FunctionSize {
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  /** How many parameters it takes; those that the compiler erases (`this`) are not counted. */
  readonly parameters: number;
  /** Where its body is in the text; null for one that is only declared. */
  readonly body: { readonly from: number; readonly to: number; readonly isBlock: boolean } | null;
}

/** A regular expression that is written out, as `/a/i`, or a call that makes one. */
export interface ExpressionText {
  readonly text: string;
  readonly isCall: boolean;
  readonly line: number;
}

/** Something that a file exports. */
export interface Export {
  readonly name: string;
  readonly line: number;
  readonly isFunction: boolean;
  readonly isConstant: boolean;
  readonly isDocumented: boolean;
}

/** One file. */
export interface SourceModule {
  readonly path: string;
  readonly text: string;
  readonly lineCount: number;
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionSize[];
  readonly exports: readonly Export[];
  readonly expressions: readonly ExpressionText[];
  /** Members of the enums, by the enum's name, in order. */
  readonly enums: ReadonlyMap<string, readonly string[]>;
  readonly namesBun: boolean;
  /** True when every statement passes on what another file exports. */
  readonly isBarrel: boolean;
}

// The few properties of syntax nodes that are used here, whatever kind of node has them.
interface Node {
  readonly kind: SyntaxKind;
  readonly parent?: Node;
  readonly end: number;
  readonly text?: string;
  readonly name?: Node;
  readonly body?: Node;
  readonly parameters?: readonly Node[];
  readonly jsDoc?: readonly unknown[];
  readonly expression?: Node;
  readonly arguments?: readonly Node[];
  readonly argument?: Node;
  readonly literal?: Node;
  readonly initializer?: Node;
  readonly moduleSpecifier?: Node;
  readonly modifiers?: readonly Node[];
  readonly members?: readonly Node[];
  readonly declarationList?: { readonly declarations: readonly Node[] };
  readonly statements?: readonly Node[];
  getStart(): number;
  getText(): string;
  forEachChild(visit: (child: Node) => void): void;
}

type Gathered = {
  -readonly [K in keyof SourceModule]: SourceModule[K] extends readonly (infer T)[] ? T[] : SourceModule[K];
};

const FUNCTIONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
]);

const TAKES_EXPRESSION: ReadonlySet<string> = new Set(["match", "matchAll", "search"]);

/** The gateway with its tests, and the page that runs in a browser. */
const PROJECTS = ["tsconfig.json", "src/features/dashboard/page/tsconfig.json"];

/** Every TypeScript file of bin, src and tests. */
export const SOURCE_MODULES: readonly SourceModule[] = await loadModules();

async function loadModules(): Promise<SourceModule[]> {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = await api.updateSnapshot({ openProjects: PROJECTS.map((path) => join(ROOT, path)) });
    const programs = snapshot.getProjects().map(({ program }) => program);
    const modules: SourceModule[] = [];
    for (const path of PROJECT_FILES.filter((file) => /^(bin|src|tests)\/.*\.ts$/.test(file))) {
      for (const program of programs) {
        const tree = await program.getSourceFile(join(ROOT, path));
        if (!tree) continue;
        modules.push(readModule(path, tree as unknown as Node));
        break;
      }
    }
    return modules;
  } finally {
    await api.close();
  }
}

function readModule(path: string, tree: Node): SourceModule {
  const text = tree.text ?? "";
  const statements = tree.statements ?? [];
  const module: Gathered = {
    path,
    text,
    lineCount: text.split("\n").length - 1,
    imports: [],
    functions: [],
    expressions: [],
    exports: statements.flatMap((statement) => exportsOf(statement, text)),
    enums: new Map(statements.filter((s) => s.kind === SyntaxKind.EnumDeclaration).map(enumMembers)),
    namesBun: false,
    isBarrel: statements.length > 0 && statements.every((s) => s.moduleSpecifier && isExport(s)),
  };
  visit(tree, module);
  return module;
}

function visit(node: Node, module: Gathered): void {
  const specifier = importedName(node);
  if (specifier !== null) module.imports.push(readImport(node, specifier, module));
  if (FUNCTIONS.has(node.kind) && !isDescribe(node)) module.functions.push(readFunction(node, module.text));
  if (node.kind === SyntaxKind.Identifier && node.text === "Bun") module.namesBun = true;
  const isCall = makesExpression(node);
  if (isCall || node.kind === SyntaxKind.RegularExpressionLiteral)
    module.expressions.push({ text: node.getText(), isCall, line: lineAt(module.text, node.getStart()) });
  node.forEachChild((child) => visit(child, module));
}

// `RegExp(…)` with or without `new`, and the methods of a text that make an expression of another text.
function makesExpression(node: Node): boolean {
  if (node.kind !== SyntaxKind.CallExpression && node.kind !== SyntaxKind.NewExpression) return false;
  const called = node.expression?.getText() ?? "";
  if (called === "RegExp" || called === "globalThis.RegExp") return true;
  return TAKES_EXPRESSION.has(node.expression?.name?.text ?? "") && isText(node.arguments?.[0]);
}

function isText(node: Node | undefined): boolean {
  return (
    node?.kind === SyntaxKind.StringLiteral ||
    node?.kind === SyntaxKind.NoSubstitutionTemplateLiteral ||
    node?.kind === SyntaxKind.TemplateExpression
  );
}

// import … from, export … from, import(…), and import("…") as a type.
function importedName(node: Node): string | null {
  if (node.kind === SyntaxKind.ImportDeclaration || node.kind === SyntaxKind.ExportDeclaration) {
    return node.moduleSpecifier?.text ?? null;
  }
  if (node.kind === SyntaxKind.ImportType) return node.argument?.literal?.text ?? null;
  const isCall = node.kind === SyntaxKind.CallExpression && node.expression?.kind === SyntaxKind.ImportKeyword;
  return isCall ? (node.arguments?.[0]?.text ?? null) : null;
}

function readImport(node: Node, specifier: string, module: SourceModule): Import {
  const isOurs = specifier.startsWith(".");
  const target = isOurs ? normalize(join(dirname(module.path), specifier)) : specifier;
  const isTypeOnly = node.kind === SyntaxKind.ImportType || /^(im|ex)port type\b/.test(node.getText());
  return { target, isOurs, isTypeOnly, line: lineAt(module.text, node.getStart()) };
}

function readFunction(node: Node, text: string): FunctionSize {
  const line = lineAt(text, node.getStart());
  const { body } = node;
  return {
    name: nameOf(node),
    line,
    lines: lineAt(text, node.end) - line + 1,
    parameters: (node.parameters ?? []).filter((parameter) => parameter.name?.text !== "this").length,
    body: body ? { from: body.getStart(), to: body.end, isBlock: body.kind === SyntaxKind.Block } : null,
  };
}

// `Class.method`, the name, or the name of the variable or property that holds it.
function nameOf(node: Node): string {
  const own = node.kind === SyntaxKind.Constructor ? "constructor" : node.name?.text;
  if (own === undefined) return node.parent?.name?.text ?? "(anonymous)";
  const owner = node.parent?.kind === SyntaxKind.ClassDeclaration ? node.parent.name?.text : undefined;
  return owner === undefined ? own : `${owner}.${own}`;
}

// A `describe` is a chapter, not a function.
function isDescribe(node: Node): boolean {
  return node.parent?.kind === SyntaxKind.CallExpression && /^describe\b/.test(node.parent.getText());
}

function exportsOf(statement: Node, text: string): Export[] {
  if (!isExport(statement)) return [];
  const isDocumented = (statement.jsDoc?.length ?? 0) > 0;
  const line = lineAt(text, statement.getStart());
  if (statement.kind === SyntaxKind.VariableStatement) {
    return (statement.declarationList?.declarations ?? []).map((declaration) => {
      const isFunction = declaration.initializer !== undefined && FUNCTIONS.has(declaration.initializer.kind);
      return { name: declaration.name?.text ?? "", line, isFunction, isConstant: !isFunction, isDocumented };
    });
  }
  const isFunction = statement.kind === SyntaxKind.FunctionDeclaration;
  return [{ name: statement.name?.text ?? "", line, isFunction, isConstant: false, isDocumented }];
}

function isExport(statement: Node): boolean {
  if (statement.kind === SyntaxKind.ExportDeclaration) return true;
  return statement.modifiers?.some((modifier) => modifier.kind === SyntaxKind.ExportKeyword) ?? false;
}

function enumMembers(node: Node): [string, string[]] {
  return [node.name?.text ?? "", (node.members ?? []).map((member) => member.name?.text ?? "")];
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

/** `path:line`, for messages. */
export function place(module: SourceModule, line: number): string {
  return `${relative(ROOT, join(ROOT, module.path))}:${line}`;
}
