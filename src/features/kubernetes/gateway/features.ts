/** THE features that the conformance suite of the API has found to be there, by their names in GatewayClass.status.supportedFeatures. */
export const SUPPORTED_FEATURES: readonly string[] = ["GRPCRoute", "Gateway", "HTTPRoute", "ReferenceGrant"];
