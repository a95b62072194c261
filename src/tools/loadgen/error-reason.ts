/** A system's error in a few words. */
export function errorReason(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return REASONS[code ?? ""] ?? message ?? String(error);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "no such file or folder",
  EACCES: "permission denied",
  EEXIST: "something else has this name",
  EPERM: "not permitted",
  EIO: "input/output error",
  ENAMETOOLONG: "the name is too long",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of its path is not a folder",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left",
  ECONNREFUSED: "connection refused",
  ENOTFOUND: "no such host",
  DNS_ENOTFOUND: "no such host",
};
