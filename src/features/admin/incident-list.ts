import { errorBody } from "../../core/status.ts";
import { INCIDENTS_KEPT, type Incident, type IncidentReader } from "../../memory/incident-ring.ts";
import { type ControlResponse, jsonResponse } from "./control-rpc.ts";

/**
 * Answers `/internal/api/security/incidents?limit=&since=`: the total and the newest incidents first.
 * docs/endpoints.md#incidents
 * @param query `limit` from 1 to 1000 (100 when absent), `since` as ISO 8601 or milliseconds since the epoch; what
 *   cannot be read gives 400
 */
export function incidentResponse(reader: IncidentReader, query: string): ControlResponse {
  const params = new URLSearchParams(query);
  const limit = readLimit(params.get("limit"));
  if (limit < 0) return refusal(`limit must be a number from 1 to ${INCIDENTS_KEPT}`);
  const sinceMs = readSince(params.get("since"));
  if (Number.isNaN(sinceMs)) return refusal("since must be an ISO 8601 time or milliseconds since the epoch");
  const incidents = reader.recent(limit, sinceMs).map(incidentBody);
  return jsonResponse(200, { total_incidents: reader.total(), incidents });
}

function incidentBody(incident: Incident): object {
  return {
    timestamp: new Date(incident.timestampMs).toISOString(),
    client_ip: incident.clientIp,
    method: incident.method,
    path: incident.path,
    category: incident.category,
    rule_id: incident.ruleId,
    anomaly_score: incident.anomalyScore,
    action: incident.action,
    payload_snippet: incident.payloadSnippet,
  };
}

function readLimit(text: string | null): number {
  if (text === null || text === "") return DEFAULT_LIMIT;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  return limit >= 1 && limit <= INCIDENTS_KEPT ? limit : -1;
}

function readSince(text: string | null): number {
  if (text === null || text === "") return 0;
  return /^\d{1,16}$/.test(text) ? Number(text) : Date.parse(text);
}

function refusal(message: string): ControlResponse {
  return jsonResponse(400, errorBody(400, message));
}

const DEFAULT_LIMIT = 100;
