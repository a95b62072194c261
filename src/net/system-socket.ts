import { dlopen, FFIType } from "bun:ffi";

/** What the system library does with descriptors of sockets. */
interface SystemSockets {
  readonly setOption: (fd: number, option: number) => boolean;
  readonly duplicate: (fd: number) => number;
  readonly waiting: (fd: number) => number;
  readonly acknowledged: (fd: number) => number;
  readonly peerUser: (fd: number) => number;
  readonly originalDestination: (fd: number) => string;
  readonly sendMore: (fd: number, bytes: Uint8Array, length: number) => number;
  readonly sendFile: (fd: number, file: number, at: number, length: number) => number;
  readonly ignorePeerErrors: (fd: number, port: number) => boolean;
}

/** Switches an option of TCP on. @returns false if the system library cannot be called, or the kernel refuses */
export function switchOn(fd: number, option: number): boolean {
  return fd >= 0 && library().setOption(fd, option);
}

/**
 * A second descriptor of the same socket, which no child inherits: what is closed by one stays open by the other. fcntl(2).
 * @returns -1 if there is none
 */
export function duplicate(fd: number): number {
  return fd < 0 ? -1 : library().duplicate(fd);
}

/**
 * Connections that wait to be accepted on a socket that is listened on. tcp(7), TCP_INFO.
 * @returns -1 if the system does not tell
 */
export function waitingOn(fd: number): number {
  return fd < 0 ? -1 : library().waiting(fd);
}

/**
 * Bytes that the peer of a connection has acknowledged so far. tcp(7), TCP_INFO.
 * @returns -1 if the system does not tell
 */
export function acknowledgedOn(fd: number): number {
  return fd < 0 ? -1 : library().acknowledged(fd);
}

/**
 * The number of the user whose process is at the other end of a UNIX socket. unix(7), SO_PEERCRED.
 * @returns -1 if the system does not tell
 */
export function peerUser(fd: number): number {
  return fd < 0 ? -1 : library().peerUser(fd);
}

/**
 * Where a connection was going before a rule of the firewall (REDIRECT of iptables or nftables) led it to a listener here.
 * @param fd of the accepted connection
 * @returns `10.0.0.5:80` or `[fd00::5]:80`; "" if the system does not tell, since the connection was not redirected for instance
 */
export function originalDestination(fd: number): string {
  return fd < 0 ? "" : library().originalDestination(fd);
}

/**
 * Sends the first bytes of a buffer, which leave together with what is sent next. send(2), MSG_MORE.
 * @returns how many the kernel has taken; -1 if it takes none, or the system library cannot be called
 */
export function sendMore(fd: number, bytes: Uint8Array, length: number): number {
  return fd < 0 ? -1 : library().sendMore(fd, bytes, length);
}

/**
 * Sends bytes of an open file, which do not pass through this process. sendfile(2).
 * @param at where in the file to begin
 * @returns how many the kernel has taken, 0 if the file ends; -1 if it takes none, or cannot do it
 */
export function sendFile(fd: number, file: number, at: number, length: number): number {
  return fd < 0 ? -1 : library().sendFile(fd, file, at, length);
}

/**
 * Keeps the kernel from telling a UDP socket that a client's port is closed. The kernel tells it by an error of the next send, and that datagram is lost,
 * also if it is for another client. ip(7), IP_RECVERR; ipv6(7), IPV6_RECVERR.
 * @param fd of any kind; only a UDP socket that is bound to the port changes
 * @returns whether it is such a socket; false if the system library cannot be called
 */
export function ignorePeerErrors(fd: number, port: number): boolean {
  return library().ignorePeerErrors(fd, port);
}

/** The system library is loaded at the first call in a thread. */
function library(): SystemSockets {
  loaded ??= load();
  return loaded;
}

function load(): SystemSockets {
  if (process.platform !== "linux") return NONE;
  const { i32, u32, ptr, u64_fast, i64_fast } = FFIType;
  try {
    const { setsockopt, getsockopt, getsockname, fcntl, send, sendfile } = dlopen("libc.so.6", {
      setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      getsockname: { args: [i32, ptr, ptr], returns: i32 },
      fcntl: { args: [i32, i32, i32], returns: i32 },
      send: { args: [i32, ptr, u64_fast, i32], returns: i64_fast },
      sendfile: { args: [i32, i32, ptr, u64_fast], returns: i64_fast },
    }).symbols;
    const on = new Int32Array([1]);
    const off = new Int32Array([0]);
    const kind = new Int32Array(1);
    const info = new Uint32Array(TCP_INFO_WORDS);
    const length = new Uint32Array(1);
    const credentials = new Int32Array(CREDENTIAL_WORDS);
    const address = Buffer.alloc(ADDRESS_BYTES);
    const offset = new Uint32Array(2);
    const infoOf = (fd: number): boolean => {
      length[0] = info.byteLength;
      return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, length) === 0;
    };
    return {
      setOption: (fd, option) => setsockopt(fd, IPPROTO_TCP, option, on, on.byteLength) === 0,
      duplicate: (fd) => fcntl(fd, F_DUPFD_CLOEXEC, 0),
      waiting: (fd) => (infoOf(fd) ? info[UNACKED_AT]! : -1),
      acknowledged: (fd) => (infoOf(fd) ? info[BYTES_ACKED_AT]! + info[BYTES_ACKED_AT + 1]! * 2 ** 32 : -1),
      peerUser: (fd) => {
        length[0] = credentials.byteLength;
        return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, credentials, length) === 0 ? credentials[USER_AT]! : -1;
      },
      originalDestination: (fd) => {
        length[0] = ADDRESS_BYTES;
        if (getsockopt(fd, IPPROTO_IP, SO_ORIGINAL_DST, address, length) === 0) return ipv4In(address);
        length[0] = ADDRESS_BYTES;
        return getsockopt(fd, IPPROTO_IPV6, SO_ORIGINAL_DST, address, length) === 0 ? ipv6In(address) : "";
      },
      sendMore: (fd, bytes, length) => Number(send(fd, bytes, length, MSG_MORE_NOW)),
      sendFile: (fd, file, at, length) => {
        offset[0] = at;
        offset[1] = at / 2 ** 32;
        return Number(sendfile(fd, file, offset, length));
      },
      ignorePeerErrors: (fd, port) => {
        length[0] = kind.byteLength;
        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, kind, length) !== 0 || kind[0] !== SOCK_DGRAM) return false;
        length[0] = ADDRESS_BYTES;
        if (getsockname(fd, address, length) !== 0 || !isInternet(address) || address.readUInt16BE(2) !== port)
          return false;
        setsockopt(fd, IPPROTO_IP, IP_RECVERR, off, off.byteLength);
        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, off, off.byteLength);
        return true;
      },
    };
  } catch {
    return NONE;
  }
}

/** Whether a socket address is of IPv4 or IPv6. */
function isInternet(address: Buffer): boolean {
  const family = address.readUInt16LE(0);
  return family === AF_INET || family === AF_INET6;
}

/** Address and port of a `sockaddr_in`. ip(7) */
function ipv4In(address: Buffer): string {
  return `${address.subarray(4, 8).join(".")}:${address.readUInt16BE(2)}`;
}

/** Address and port of a `sockaddr_in6`. ipv6(7) */
function ipv6In(address: Buffer): string {
  const words = Array.from({ length: 8 }, (_, i) => address.readUInt16BE(8 + i * 2).toString(16));
  // In the form in which addresses are compared. RFC 5952 §4
  return `${new URL(`http://[${words.join(":")}]`).hostname}:${address.readUInt16BE(2)}`;
}

const NONE: SystemSockets = {
  setOption: () => false,
  duplicate: () => -1,
  waiting: () => -1,
  acknowledged: () => -1,
  peerUser: () => -1,
  originalDestination: () => "",
  sendMore: () => -1,
  sendFile: () => -1,
  ignorePeerErrors: () => false,
};
let loaded: SystemSockets | null = null;

const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const TCP_INFO_WORDS = 64;
/** `tcpi_unacked`, which is the length of the accept queue where the socket listens. */
const UNACKED_AT = 6;
/** `tcpi_bytes_acked`, low and high word. */
const BYTES_ACKED_AT = 30;
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
const SO_TYPE = 3;
const SOCK_DGRAM = 2;
const AF_INET = 2;
const AF_INET6 = 10;
const IP_RECVERR = 11;
const IPV6_RECVERR = 25;
/** Process, user, group. */
const CREDENTIAL_WORDS = 3;
const USER_AT = 1;
const F_DUPFD_CLOEXEC = 1030;
/** MSG_MORE, MSG_NOSIGNAL and MSG_DONTWAIT. */
const MSG_MORE_NOW = 0x8000 | 0x4000 | 0x40;
const IPPROTO_IP = 0;
const IPPROTO_IPV6 = 41;
/** The same number for both, in linux/netfilter_ipv4.h and linux/netfilter_ipv6/ip6_tables.h. */
const SO_ORIGINAL_DST = 80;
/** Of a `sockaddr_in6`; that of IPv4 is shorter. */
const ADDRESS_BYTES = 28;
