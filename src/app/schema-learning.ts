import { create, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { autoRoutes, isServiceWanted } from "../config/auto-routes.ts";
import type { TranscodedRouteConfig } from "../config/mesh-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { faultRow } from "../core/fault-rows.ts";
import { patternShape } from "../core/path-pattern.ts";
import { TICK_MS } from "../core/timer-wheel.ts";
import { type Reflected, Reflection } from "../features/transcode/reflection.ts";
import { readSchema } from "../proto/grpc/schema.ts";
import { GrpcOrigins } from "../worker/transcoded-routes.ts";
import { WorkerServices } from "../worker/worker-services.ts";
import { LEARNED_SET, type LearnedSchema } from "./learned-schemas.ts";

/** Milliseconds that one attempt to learn all of an upstream's services may take. */
const LEARN_TIMEOUT_MS = 10_000;
/** Milliseconds that a start waits for the services of its upstreams. */
export const LEARN_START_MS = 2000;
/** What one line of the log says of methods that cannot be served. */
const MAX_LEARNED_NOTES = 20;

/** What an attempt comes to: a FileDescriptorSet, or why there is none. */
export type Learning = { readonly ok: true; readonly base64: string } | { readonly ok: false; readonly error: string };

/** Asks the upstream of a configuration's `auto` for the descriptors of its services. It takes LEARN_TIMEOUT_MS at most. */
export async function learnSchema(config: RuntimeConfig): Promise<Learning> {
  const { upstream, services, exclude } = config.transcoder.reflected!;
  let failure = "";
  const thread = new WorkerServices(
    (error) => {
      failure = String(error);
    },
    (_, reason) => {
      failure = reason;
    },
    () => {},
  );
  const ticking = setInterval(() => thread.tick(), TICK_MS);
  const origins = new GrpcOrigins(config, thread.upstream);
  try {
    const result = await new Promise<Reflected>((resolve) => {
      const wish = {
        services: (name: string) => isServiceWanted(name, services, exclude),
        timeoutMs: LEARN_TIMEOUT_MS,
      };
      thread.inTurn(() => new Reflection(origins.originOf(upstream), wish, thread, resolve).start());
    });
    if (result.kind === "schema") return { ok: true, base64: setOf(result.files) };
    return { ok: false, error: result.kind === "none" ? result.why : failure || faultRow(result.fault).message };
  } catch (error) {
    return { ok: false, error: String(error) };
  } finally {
    thread.inTurn(() => origins.close());
    // What the closing has left is written in the next turns.
    setTimeout(() => clearInterval(ticking), CLOSING_TICKS * TICK_MS);
  }
}

/** The routes of what was learned, and what is to be said of the rest. */
export function routesOf(
  { transcoder }: RuntimeConfig,
  { base64 }: LearnedSchema,
): { readonly routes: readonly TranscodedRouteConfig[]; readonly notes: readonly string[] } {
  const schema = readSchema(Buffer.from(base64, "base64"));
  if (typeof schema === "string") throw new Error(`the descriptors of reflection: ${schema}`);
  const taken = transcoder.routes.map((route) => `${route.httpMethod} ${patternShape(route.pattern)}`);
  const { routes, skipped, wrong, unknown } = autoRoutes({
    ...transcoder.reflected!,
    schema,
    descriptorSet: LEARNED_SET,
    taken,
  });
  return {
    routes,
    notes: [...unknown, ...wrong, ...skipped].map(({ message }) => message).slice(0, MAX_LEARNED_NOTES),
  };
}

/** In the order of their names, so that the same files are the same bytes. */
function setOf(files: readonly FileDescriptorProto[]): string {
  const file = files.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file }))).toString("base64");
}

const CLOSING_TICKS = 4;
