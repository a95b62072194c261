/**
 * Has the runtime verify certificates in this thread, whatever NODE_TLS_REJECT_UNAUTHORIZED says: requests of packages and of users' modules
 * go by that variable. Call it first. The runtime looks at the environment of the process until a thread changes its own copy, even if the
 * copy lacks the variable. docs/security.md#environment
 */
export function verifyTls(): void {
  const isSet = process.env[VARIABLE] !== undefined;
  delete process.env[VARIABLE];
  if (isSet) process.env[VARIABLE] = "1";
}

const VARIABLE = "NODE_TLS_REJECT_UNAUTHORIZED";
