import { type DescMessage, fromBinary, type JsonValue, type Registry, toJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { type Any, AnySchema, anyIs } from "@bufbuild/protobuf/wkt";
import type { GrpcStatus } from "../../message/grpc-upstream.ts";
import { ERROR_DETAILS } from "../../proto/grpc/error-details.ts";

/**
 * The details of a status as JSON texts. One of unknown type shows its bytes in base64; what is no google.rpc.Status
 * at all has none.
 * @param registry the types of the method's own files, if they are known
 */
export function detailsOf({ details }: GrpcStatus, registry: Registry | null): readonly string[] {
  if (details === null) return [];
  try {
    const status = ERROR_DETAILS.registry.getMessage("google.rpc.Status")!;
    const read = reflect(status, fromBinary(status, details));
    const list = read.get(status.field.details!) as Iterable<{ readonly message: unknown }>;
    return [...list].slice(0, MAX_DETAILS).map((one) => JSON.stringify(detailOf(one.message as Any, registry)));
  } catch {
    return [];
  }
}

function detailOf(any: Any, registry: Registry | null): JsonValue {
  const name = any.typeUrl.slice(any.typeUrl.lastIndexOf("/") + 1);
  for (const known of [registry, ERROR_DETAILS.registry]) {
    const type: DescMessage | undefined = known?.getMessage(name);
    if (type === undefined || !anyIs(any, type)) continue;
    try {
      return toJson(AnySchema, any, { registry: known! });
    } catch {
      // Shown as bytes.
    }
  }
  return { "@type": any.typeUrl, value: Buffer.from(any.value).toString("base64") };
}

/** More than any server sends in earnest. */
const MAX_DETAILS = 100;
