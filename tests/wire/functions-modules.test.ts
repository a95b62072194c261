// What modules of functions are written in: JSX as tsconfig.json says, paths, data files, workers. docs/functions.md#modules
import { afterAll, describe, expect, test } from "bun:test";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MODULE = (body: string, imports = "") =>
  `${imports}\nexport default { fetch: async () => new Response(${body}) };\n`;
/** A runtime of JSX that writes what it is told. */
const RUNTIME = `export const Fragment = "fragment";
export const jsx = (type, props) => "<" + (typeof type === "string" ? type : type.name) + ">" + (props.children ?? "");
export const jsxs = (type, props) => jsx(type, { children: props.children.join("") });
export const jsxDEV = (type, props) => jsx(type, { children: [props.children].flat().join("") });
`;
const FILES: Readonly<Record<string, string>> = {
  "automatic/tsconfig.json": '{ /* of the folder */ "extends": "./base", }',
  "automatic/base.json": '{ "compilerOptions": { "jsx": "react-jsx", "jsxImportSource": "tiny" } }',
  "automatic/page.tsx": MODULE("<p>a{1}</p>"),
  "automatic/deep/part.jsx": MODULE("<b>deep</b>"),
  "automatic/own.tsx": `/** @jsxImportSource other */${MODULE("<p>own</p>")}`,
  "classic/tsconfig.json":
    '{ "compilerOptions": { "jsx": "react", "jsxFactory": "make", "paths": { "@/*": ["./lib/*"] } } }',
  "classic/page.tsx": MODULE("<p>c</p>", 'import { make } from "@/make";'),
  "classic/lib/make.ts": "export const make = (type: string, _: unknown, child: string) => `made ${type} ${child}`;\n",
  "node_modules/tiny/package.json": '{"name":"tiny","type":"module"}',
  "node_modules/tiny/jsx-runtime.js": RUNTIME,
  "node_modules/tiny/jsx-dev-runtime.js": RUNTIME,
  "node_modules/other/package.json": '{"name":"other","type":"module"}',
  "node_modules/other/jsx-runtime.js": RUNTIME.replaceAll('"<"', '"other <"'),
  "node_modules/other/jsx-dev-runtime.js": RUNTIME.replaceAll('"<"', '"other <"'),
  "data.ts": MODULE(
    "[data.n, text, conf.key, own.length, typeof readFileSync].join()",
    `import { readFileSync } from "node:fs";
import data from "./data.json";
import text from "./a.txt" with { type: "text" };
import conf from "./conf.toml";
const own = await Bun.file(new URL("./a.txt", import.meta.url)).text();`,
  ),
  "data.json": '{"n": 7}',
  "a.txt": "text",
  "conf.toml": 'key = "toml"',
  "worker.ts": MODULE(
    "await ask(4)",
    `const worker = new Worker(new URL("./square.ts", import.meta.url));
const ask = (n: number) => new Promise<string>((resolve) => { worker.onmessage = ({ data }) => resolve(String(data)); worker.postMessage(n); });`,
  ),
  "square.ts": "self.onmessage = ({ data }) => postMessage(data * data);\n",
  "common.cjs":
    'const { sep } = require("node:path");\nmodule.exports = { fetch: () => new Response(`common ${sep}`) };\n',
};
const ROUTES = {
  "/automatic": ["./automatic/page.tsx", "<p>a1"],
  "/deep": ["./automatic/deep/part.jsx", "<b>deep"],
  "/own": ["./automatic/own.tsx", "other <p>own"],
  "/classic": ["./classic/page.tsx", "made p c"],
  "/data": ["./data.ts", "7,text,toml,4,function"],
  "/worker": ["./worker.ts", "16"],
  "/common": ["./common.cjs", "common /"],
} as const;

const gateway = await startGateway({
  config: { server: { workers: 1 } },
  routes: Object.entries(ROUTES).map(([prefix, [module]]) => ({ type: "function", prefix, module })),
  files: FILES,
});
afterAll(() => stopAll(gateway));

describe("a module", () => {
  test.each(Object.entries(ROUTES))("%s", async (path, [, text]) => {
    const reply = await gateway.once(request(`GET ${path}`));
    expect([reply.status, reply.text]).toEqual([200, text]);
  });
});
