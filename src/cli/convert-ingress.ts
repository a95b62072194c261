import { isMap, LineCounter } from "yaml";
import { strictYamls } from "../config/yaml-document.ts";
import { exactly } from "../core/number-text.ts";
import {
  type Conversion,
  convertedIngresses,
  isForConversion,
} from "../features/kubernetes/ingress/ingress-conversion.ts";
import { ObjectStore } from "../features/kubernetes/object-store.ts";
import type { KubeObject } from "../features/kubernetes/objects.ts";
import { readSource } from "../tools/convert/source-text.ts";
import { ConvertFault } from "../tools/convert/statement.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { kubernetesYaml } from "./kubernetes-yaml.ts";

/** The command as `edge help convert` shows it. */
export const convertIngressCommand = {
  name: "edge convert ingress",
  page: "kubernetes-ingress.md#from-ingress-to-the-gateway-api",
  summary:
    "Prints resources of the Gateway API and EdgePolicies for the Ingresses in files of YAML or JSON, with the annotations of ingress-nginx; comments at the end name each lost part.",
  operands: { usage: "FILE|-", min: 1, max: 1000 },
  flags: [
    {
      name: "gateway",
      type: "string",
      default: "edge/edge",
      placeholder: "NAMESPACE/NAME",
      help: "the Gateway that is printed, to which all routes are attached",
    },
    { name: "gateway-class", type: "string", default: "edge", placeholder: "NAME", help: "its GatewayClass" },
    { name: "json", type: "bool", default: false, help: "print one JSON object: objects, and each lost part" },
  ],
  notes: [
    "Files with Services and ConfigMaps beside the Ingresses give ports by name and custom headers.",
    "",
    "  kubectl get ingress,service -A -o yaml > all.yaml",
    "  edge convert ingress all.yaml > gateway.yaml",
    "",
    "Exit codes: 0 converted, 1 there is no Ingress, or a file cannot be read, 2 wrong usage.",
  ],
} as const;

/** `edge convert ingress`: prints the resources. Gives the exit code. docs/kubernetes-ingress.md#from-ingress-to-the-gateway-api */
export function runConvertIngress(args: readonly string[], io: CommandIo): number {
  const call = startCommand(convertIngressCommand, args, io);
  if (typeof call === "number") return call;
  const { gateway, json, "gateway-class": gatewayClass } = call.values;
  const [, namespace, name] = /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/.exec(gateway) ?? [];
  if (namespace === undefined || name === undefined) {
    io.err(`edge convert ingress: --gateway: expected namespace/name, found ${gateway}\n`);
    return ExitCode.Usage;
  }
  const store = new ObjectStore();
  for (const file of call.operands) {
    try {
      for (const object of objectsIn(readSource(file), file)) if (isForConversion(object)) store.put(object);
    } catch (error) {
      io.err(
        `edge convert ingress: ${error instanceof ConvertFault ? error.message : `${file}: ${errorReason(error)}`}\n`,
      );
      return ExitCode.Failure;
    }
  }
  const conversion = convertedIngresses(store, { gateway: { namespace, name }, gatewayClass });
  if (conversion.ingresses === 0) {
    io.err("edge convert ingress: there is no Ingress to convert\n");
    return ExitCode.Failure;
  }
  const { objects, lost } = conversion;
  io.out(json ? `${JSON.stringify({ objects, lost }, null, 2)}\n` : textOf(conversion));
  io.err(
    `${exactly(conversion.ingresses, "Ingress", "Ingresses")}: ${exactly(objects.length, "object")}; ${lost.length} lost, named at the end.\n`,
  );
  return ExitCode.Done;
}

function textOf({ objects, lost }: Conversion): string {
  const lines = lost.map(({ ingress, what, why }) => `# ${ingress}: ${what}: ${why}`.replace(/[\r\n]+/g, " "));
  const notes = lost.length === 0 ? "" : `# Lost:\n${lines.join("\n")}\n`;
  return `${objects.map(kubernetesYaml).join("---\n")}${notes}`;
}

/** The objects of a text, and of lists in it. @throws ConvertFault if it is no YAML */
function objectsIn(text: string, file: string): KubeObject[] {
  const lines = new LineCounter();
  return strictYamls(text, lines).flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined)
      throw new ConvertFault({ file, line: lines.linePos(error.pos[0]).line }, error.message.split("\n")[0]!);
    return isMap(document.contents) ? flat(document.toJS({ maxAliasCount: MAX_ALIASES })) : [];
  });
}

/** Aliases of a document, so that a short text stays a short one. */
const MAX_ALIASES = 100;

function flat(value: unknown): KubeObject[] {
  if (typeof value !== "object" || value === null) return [];
  const { kind, items, metadata } = value as { kind?: unknown; items?: unknown; metadata?: { name?: unknown } };
  if (Array.isArray(items) && String(kind).endsWith("List")) return items.flatMap(flat);
  if (typeof kind !== "string" || typeof metadata?.name !== "string") return [];
  return [normal(value as KubeObject)];
}

/** As the API server would have it: in a namespace, with texts as annotations, and data of Secrets in base64. */
function normal(object: KubeObject): KubeObject {
  const { metadata, stringData } = object as KubeObject & { readonly stringData?: Readonly<Record<string, unknown>> };
  const { annotations = {}, namespace = "default" } = metadata;
  const texts = Object.fromEntries(Object.entries(annotations).map(([key, value]) => [key, String(value)]));
  const { data } = object as { readonly data?: Readonly<Record<string, string>> };
  const encoded = Object.entries(stringData ?? {}).map(([key, value]) => [
    key,
    Buffer.from(String(value)).toString("base64"),
  ]);
  return {
    ...object,
    metadata: { ...metadata, namespace, annotations: texts },
    ...(encoded.length === 0 ? {} : { data: { ...data, ...Object.fromEntries(encoded) } }),
  };
}
