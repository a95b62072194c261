/** Whether a header field of this name carries a credential as a rule, so that its value is masked where it is shown. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

const SECRET_NAME = /auth|cookie|token|secret|passw|credential|session|signature|(^|[-_])key$|(^|[-_])api[-_]?key/i;
