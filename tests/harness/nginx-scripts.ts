/** Directives of nginx that hand on what Debian's fastcgi.conf hands on. @param more further parameters, or others in their place */
export function fastcgiParams(more: Readonly<Record<string, string>>): string {
  const params = { ...PARAMS, ...more };
  return Object.entries(params)
    .map(([name, value]) => `fastcgi_param ${name} ${value};`)
    .join(" ");
}

const PARAMS: Readonly<Record<string, string>> = {
  QUERY_STRING: "$query_string",
  REQUEST_METHOD: "$request_method",
  CONTENT_TYPE: "$content_type",
  CONTENT_LENGTH: "$content_length",
  SCRIPT_NAME: "$fastcgi_script_name",
  REQUEST_URI: "$request_uri",
  DOCUMENT_URI: "$document_uri",
  DOCUMENT_ROOT: "$document_root",
  SERVER_PROTOCOL: "$server_protocol",
  REQUEST_SCHEME: "$scheme",
  HTTPS: "$https if_not_empty",
  GATEWAY_INTERFACE: "CGI/1.1",
  SERVER_SOFTWARE: "nginx",
  REMOTE_ADDR: "$remote_addr",
  REMOTE_PORT: "$remote_port",
  SERVER_ADDR: "$server_addr",
  SERVER_PORT: "$server_port",
  SERVER_NAME: "$server_name",
  REDIRECT_STATUS: "200",
};
