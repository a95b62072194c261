import type { DescMethod } from "@bufbuild/protobuf";
import { schemaOfTable } from "./compact-proto.ts";

/** grpc/health/v1/health.proto, as far as one question goes. */
const HEALTH = schemaOfTable(
  "grpc.health.v1",
  [],
  { HealthCheckRequest: ["service: string = 1"], HealthCheckResponse: ["status: int32 = 1"] },
  { Health: ["Check: grpc.health.v1.HealthCheckRequest -> grpc.health.v1.HealthCheckResponse"] },
);

/** The call by which a server is asked for its health. */
export const CHECK_HEALTH: DescMethod = HEALTH.method("/grpc.health.v1.Health/Check")!;

/** Its response. */
export interface HealthCheckResponse {
  readonly status: number;
}

/** The one good status. */
export const SERVING = 1;
