import { reasonOf } from "../../core/status.ts";
import { VERSION } from "../../core/version.ts";
import { ENDPOINTS, type EndpointDoc, type EndpointRow } from "./built-in-endpoints.ts";
import { JSON_TYPE } from "./built-in-response.ts";
import { type EndpointSchema, ERROR_SCHEMA } from "./endpoint-schemas.ts";

/** The built-in endpoints as OpenAPI 3.1, for `/internal/api/openapi.json`. docs/endpoints.md#openapi */
export function openApi(): object {
  return {
    openapi: "3.1.1",
    info: {
      title: "edge: built-in endpoints",
      version: VERSION,
      description:
        "The gateway's own endpoints. Internal endpoints are for this machine, internal_api.allow, and its UNIX socket.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    paths: Object.fromEntries(ENDPOINTS.map((row) => [row.path, pathItem(row)])),
    components: {
      schemas: { Error: ERROR_SCHEMA },
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "internal_api.token, if you set it" },
      },
    },
  };
}

function pathItem({ path, methods, internal, doc }: EndpointRow): object {
  return Object.fromEntries(methods.map((method) => [method.toLowerCase(), operation(path, method, doc, internal)]));
}

function operation(path: string, method: string, doc: EndpointDoc, isInternal: boolean): object {
  const { summary, page, query, request, isBodyOptional = false, response, others = {}, refusals } = doc;
  const refused = isInternal ? [...new Set([...refusals, 401, 403])] : refusals;
  return {
    operationId: `${method.toLowerCase()}${path
      .replace(/\.json$/, "")
      .replace(/[^a-z]+/g, "_")
      .replace(/_$/, "")}`,
    summary,
    description: `docs/${page}`,
    ...(isInternal ? { security: [{}, { token: [] }] } : { security: [] }),
    ...(query === undefined
      ? {}
      : { parameters: Object.entries(query).map(([name, schema]) => ({ name, in: "query", schema })) }),
    ...(request === undefined ? {} : { requestBody: { required: !isBodyOptional, content: json(request) } }),
    responses: {
      200: {
        description: "OK",
        content: typeof response === "string" ? { [response]: { schema: { type: "string" } } } : json(response),
      },
      ...Object.fromEntries(
        Object.entries(others).map(([status, schema]) => [status, answered(Number(status), schema)]),
      ),
      ...Object.fromEntries(
        [...refused]
          .sort((a, b) => a - b)
          .filter((status) => !(status in others))
          .map((status) => [status, answered(status, { $ref: "#/components/schemas/Error" })]),
      ),
    },
  };
}

function answered(status: number, schema: EndpointSchema): object {
  return { description: reasonOf(status), content: json(schema) };
}

function json(schema: EndpointSchema): object {
  return { [JSON_TYPE]: { schema } };
}
