import { configSchema, type JsonSchema, routesSchema } from "../loading/json-schema.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";

/** The command as `edge help schema` shows it. */
export const schemaCommand = {
  name: "edge schema",
  page: "tools.md#edge-schema",
  summary: "Prints the JSON Schema of config.yaml or routes.yaml, for editors that complete and check YAML.",
  operands: { usage: "config|routes", min: 1, max: 1, words: ["config", "routes"] },
  flags: [],
  notes: [
    "Write it beside the file and name it in the file's first line:",
    "  edge schema config > config.schema.json",
    "  # yaml-language-server: $schema=config.schema.json",
  ],
} as const;

/** `edge schema config|routes`. docs/tools.md#edge-schema */
export function runSchema(args: readonly string[], io: CommandIo): number {
  const call = startCommand(schemaCommand, args, io);
  if (typeof call === "number") return call;
  io.out(`${JSON.stringify(fileSchema(call.operands[0] === "config" ? "config" : "routes"), null, 2)}\n`);
  return ExitCode.Done;
}

/** The schema of one of the two files. */
export function fileSchema(file: "config" | "routes"): JsonSchema {
  return file === "config" ? configSchema() : routesSchema();
}
