import { configSchema, type JsonSchema, routesSchema } from "../loading/json-schema.ts";
import { policyDefinition } from "../loading/policy-schema.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { kubernetesYaml } from "./kubernetes-yaml.ts";

/** The command as `edge help schema` shows it. */
export const schemaCommand = {
  name: "edge schema",
  page: "tools.md#edge-schema",
  summary:
    "Prints the JSON Schema of config.yaml or routes.yaml, for editors that complete and check YAML; or the CustomResourceDefinition of EdgePolicy, for Kubernetes.",
  operands: { usage: "config|routes|crd", min: 1, max: 1, words: ["config", "routes", "crd"] },
  flags: [],
  notes: [
    "Write it beside the file and name it in the file's first line:",
    "  edge schema config > config.schema.json",
    "  # yaml-language-server: $schema=config.schema.json",
    "",
    "EdgePolicy brings the keys of routes into a cluster:",
    "  edge schema crd | kubectl apply --server-side -f -",
  ],
} as const;

/** `edge schema config|routes|crd`. docs/tools.md#edge-schema */
export function runSchema(args: readonly string[], io: CommandIo): number {
  const call = startCommand(schemaCommand, args, io);
  if (typeof call === "number") return call;
  if (call.operands[0] === "crd") {
    io.out(kubernetesYaml(policyDefinition()));
    return ExitCode.Done;
  }
  io.out(`${JSON.stringify(fileSchema(call.operands[0] === "config" ? "config" : "routes"), null, 2)}\n`);
  return ExitCode.Done;
}

/** The schema of one of the two files. */
export function fileSchema(file: "config" | "routes"): JsonSchema {
  return file === "config" ? configSchema() : routesSchema();
}
