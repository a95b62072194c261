/** One of the three origins that a vector is sent to. docs/tools.md#multihop */
export interface Backend {
  readonly name: BackendName;
  /** The route prefix that leads to it, and that the gateway strips. */
  readonly prefix: string;
  readonly runtime: string;
  /** The parser of that runtime. */
  readonly parserEngine: string;
}

export type BackendName = "node" | "python" | "go";

export const BACKENDS: readonly Backend[] = [
  { name: "node", prefix: "/node", runtime: "node", parserEngine: "llhttp" },
  { name: "python", prefix: "/python", runtime: "python", parserEngine: "http.server" },
  { name: "go", prefix: "/go", runtime: "go", parserEngine: "net/http" },
];
