/** A pattern of agents' names in the form that is compared. */
export function agentPattern(text: string): string {
  return text.toLowerCase().replace(/\.$/, "");
}

/** Whether an agent's name fits `*`, `*.example` or a name; both in lower case. No request without an agent fits. */
export function fitsAgent(pattern: string, agent: string): boolean {
  if (agent === "") return false;
  if (pattern === "*") return true;
  return pattern.startsWith("*.") ? agent.endsWith(pattern.slice(1)) : agent === pattern;
}
