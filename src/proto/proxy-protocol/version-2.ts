import { latin1 } from "../../core/bytes.ts";

/** What a header of version 2 begins with, as HAProxy's proxy-protocol.txt has it (2.2). */
export const SIGNATURE: Uint8Array = latin1("\r\n\r\n\0\r\nQUIT\n");
export const COMMAND_AT = 12;
export const FAMILY_AT = 13;
export const LENGTH_AT = 14;
/** Bytes before the addresses. */
export const FIXED_BYTES = 16;
/** Version and command in one byte. */
export const LOCAL = 0x20;
export const PROXY = 0x21;
