import { schemaOfTable } from "./compact-proto.ts";

/** google/rpc/status.proto and google/rpc/error_details.proto: what servers put into `grpc-status-details-bin`. */
export const ERROR_DETAILS = schemaOfTable(
  "google.rpc",
  ["google/protobuf/any.proto", "google/protobuf/duration.proto"],
  {
    Status: ["code: int32 = 1", "message: string = 2", "details: google.protobuf.Any[] = 3"],
    RetryInfo: ["retry_delay: google.protobuf.Duration = 1"],
    DebugInfo: ["stack_entries: string[] = 1", "detail: string = 2"],
    QuotaFailure: ["violations: google.rpc.QuotaViolation[] = 1"],
    QuotaViolation: ["subject: string = 1", "description: string = 2"],
    ErrorInfo: ["reason: string = 1", "domain: string = 2", "metadata: string{} = 3"],
    PreconditionFailure: ["violations: google.rpc.PreconditionViolation[] = 1"],
    PreconditionViolation: ["type: string = 1", "subject: string = 2", "description: string = 3"],
    BadRequest: ["field_violations: google.rpc.FieldViolation[] = 1"],
    FieldViolation: ["field: string = 1", "description: string = 2", "reason: string = 3"],
    RequestInfo: ["request_id: string = 1", "serving_data: string = 2"],
    ResourceInfo: [
      "resource_type: string = 1",
      "resource_name: string = 2",
      "owner: string = 3",
      "description: string = 4",
    ],
    Help: ["links: google.rpc.HelpLink[] = 1"],
    HelpLink: ["description: string = 1", "url: string = 2"],
    LocalizedMessage: ["locale: string = 1", "message: string = 2"],
  },
);
