import { quote } from "../../config/config-fault.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import { applicationScheme, speaksFastCgi, type TargetConfig } from "../../config/origin.ts";
import type { Spot } from "../../config/piece.ts";

/** The keys of a route that the check reads. */
interface AiValues {
  readonly ai: { readonly models: readonly { readonly targets: readonly string[] }[] } | null;
  readonly mirror: unknown;
  readonly mirrors: readonly unknown[];
  readonly canary: unknown;
  readonly grpc_web: boolean;
}

/** Models are at targets of the route, and nothing else has their requests. */
export function checkAi(values: AiValues, targets: readonly TargetConfig[], { log, path }: Spot): void {
  if (values.ai === null) return;
  const at = [...path, "ai"];
  for (const other of ["mirror", "canary"] as const)
    if (values[other] !== null) log.fault(at, `does not go with ${other}: remove one`, true);
  if (values.mirrors.length > 0) log.fault(at, "does not go with mirrors: remove one", true);
  if (values.grpc_web) log.fault(at, "does not go with grpc_web: remove one", true);
  const script = targets.find(({ scheme }) => speaksFastCgi(scheme) || applicationScheme(scheme) !== null);
  if (script !== undefined) log.fault(at, `needs targets of HTTP: remove it, or ${script.url}`, true);
  const names = targets.flatMap(({ name = "" }) => (name === "" ? [] : [name]));
  values.ai.models.forEach((model, i) => {
    for (const [j, name] of model.targets.entries()) {
      if (names.includes(name)) continue;
      const place = [...at, "models", i, "targets", j];
      log.fault(place, `no target of the route has the name ${quote(name)}${didYouMean(name, names)}`, true);
    }
  });
}
