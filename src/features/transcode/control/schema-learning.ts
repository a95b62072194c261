import { create, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { type OriginConfig, usesTls } from "../../../config/origin.ts";
import { messageOf } from "../../../core/error-text.ts";
import { Fault } from "../../../core/fault.ts";
import { patternShape } from "../../../core/path-pattern.ts";
import type { NameResolver } from "../../../net/name-resolver.ts";
import { GrpcCode } from "../../../proto/grpc/grpc-status.ts";
import {
  REFLECTION_METHODS,
  type ReflectionQuestion,
  type ReflectionResponse,
  reflectionAnswer,
} from "../../../proto/grpc/reflection-messages.ts";
import { readSchema } from "../../../proto/grpc/schema.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { GrpcFailure, OutboundGrpc } from "../../../upstream/outbound-grpc.ts";
import { readUpstreamTls } from "../../../upstream/tls-files.ts";
import { autoRoutes, isServiceWanted } from "../auto-routes.ts";
import { MAX_DESCRIPTOR_BYTES } from "../limits.ts";
import { type Reflected, Reflection, type ReflectionListener, type ReflectionPorts } from "../reflection.ts";
import type { TranscodedRouteConfig } from "../transcoded-route.ts";
import { LEARNED_SET, type LearnedSchema } from "./learned-schema.ts";

/** Milliseconds that one attempt to learn all of an upstream's services may take. */
const LEARN_TIMEOUT_MS = 10_000;
/** What one line of the log says of methods that cannot be served. */
const MAX_LEARNED_NOTES = 20;

/** What an attempt comes to: a FileDescriptorSet, or why there is none. */
type Learning = { readonly ok: true; readonly base64: string } | { readonly ok: false; readonly error: string };

/** Asks the upstream of a configuration's `auto` for the descriptors of its services. It takes LEARN_TIMEOUT_MS at most. */
export async function learnSchema(config: RuntimeConfig, names: NameResolver): Promise<Learning> {
  const { upstream, services, exclude } = config.transcoder.reflected!;
  const wish = {
    services: (name: string) => isServiceWanted(name, services, exclude),
    timeoutMs: LEARN_TIMEOUT_MS,
  };
  let connection: OutboundGrpc | null = null;
  try {
    const port = new ConnectionReflection(await connectionTo(upstream, config, names));
    connection = port.connection;
    const result = await new Promise<Reflected>((resolve) => new Reflection(port, wish, resolve).start());
    if (result.kind === "schema") return { ok: true, base64: setOf(result.files) };
    return { ok: false, error: result.kind === "none" ? result.why : port.failure };
  } catch (error) {
    return { ok: false, error: messageOf(error) };
  } finally {
    connection?.close();
  }
}

/** A connection with the bounds of one attempt. */
function connectionTo(upstream: OriginConfig, config: RuntimeConfig, names: NameResolver): Promise<OutboundGrpc> {
  const { transcoder, proxy } = config;
  const tls = usesTls(upstream.scheme) ? readUpstreamTls(transcoder.tls, upstream.hostname) : null;
  const bounds = {
    connectTimeoutMs: Math.min(LEARN_TIMEOUT_MS, proxy.transport.connectTimeoutMs),
    maxMessageBytes: MAX_DESCRIPTOR_BYTES,
  };
  return OutboundGrpc.open({ ...upstream, tls }, bounds, names);
}

/** Reflection by a connection of the control thread. */
class ConnectionReflection implements ReflectionPorts {
  readonly connection: OutboundGrpc;
  /** Why there was no response. */
  failure = "";

  constructor(connection: OutboundGrpc) {
    this.connection = connection;
  }

  ask(version: number, question: ReflectionQuestion, listener: ReflectionListener): () => void {
    const responses = this.connection.call<ReflectionResponse>(REFLECTION_METHODS[version]!, question, CALL);
    let isGivenUp = false;
    const run = async (): Promise<void> => {
      for await (const response of responses) {
        if (isGivenUp) return;
        listener.onAnswer(reflectionAnswer(response));
      }
      if (!isGivenUp) listener.onEnd(GrpcCode.Ok, "");
    };
    run().catch((error: unknown) => {
      this.failure = messageOf(error);
      if (isGivenUp) return;
      const { status, reason } = error instanceof GrpcFailure ? error : NO_RESPONSE;
      if (status === 0) listener.onFailure(Fault.UpstreamUnavailable);
      else listener.onEnd(status, reason);
    });
    return () => {
      isGivenUp = true;
    };
  }

  after(ms: number, act: () => void): () => void {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
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

const NO_RESPONSE = { status: 0, reason: "" };
const CALL = { firstMessageMs: LEARN_TIMEOUT_MS };
