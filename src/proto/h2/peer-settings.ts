import { DEFAULT_WINDOW_BYTES, ErrorCode, MAX_WINDOW_BYTES, readUint31, SettingId } from "./frame.ts";

const SETTING_BYTES = 6;
const MIN_FRAME_BYTES = 16384;
const MAX_FRAME_BYTES = 16777215;
const TOP_BIT = 2 ** 31;

/** What the peer has said of itself. RFC 9113 §6.5.2; RFC 8441 §3. */
export class PeerSettings {
  headerTableBytes = 4096;
  maxConcurrentStreams = Number.POSITIVE_INFINITY;
  initialWindowBytes = DEFAULT_WINDOW_BYTES;
  /** Whether extended CONNECT may be used towards it. */
  allowsConnectProtocol = false;

  /**
   * Takes the payload of a SETTINGS frame.
   * @param fromClient whether the peer is the client
   * @returns NoError, or how the session ends
   */
  take(bytes: Uint8Array, from: number, to: number, fromClient: boolean): ErrorCode {
    if ((to - from) % SETTING_BYTES !== 0) return ErrorCode.FrameSizeError;
    for (let at = from; at < to; at += SETTING_BYTES) {
      const value = readUint31(bytes, at + 2) + (bytes[at + 2]! >= 0x80 ? TOP_BIT : 0);
      const fault = this.takeOne((bytes[at]! << 8) | bytes[at + 1]!, value, fromClient);
      if (fault !== ErrorCode.NoError) return fault;
    }
    return ErrorCode.NoError;
  }

  private takeOne(id: number, value: number, fromClient: boolean): ErrorCode {
    switch (id) {
      case SettingId.HeaderTableSize:
        this.headerTableBytes = value;
        return ErrorCode.NoError;
      case SettingId.EnablePush:
        return value === 0 || (value === 1 && fromClient) ? ErrorCode.NoError : ErrorCode.ProtocolError;
      case SettingId.MaxConcurrentStreams:
        this.maxConcurrentStreams = value;
        return ErrorCode.NoError;
      case SettingId.InitialWindowSize:
        if (value > MAX_WINDOW_BYTES) return ErrorCode.FlowControlError;
        this.initialWindowBytes = value;
        return ErrorCode.NoError;
      // We send no larger frames than all peers must take.
      case SettingId.MaxFrameSize:
        return value >= MIN_FRAME_BYTES && value <= MAX_FRAME_BYTES ? ErrorCode.NoError : ErrorCode.ProtocolError;
      case SettingId.EnableConnectProtocol:
        if (value > 1 || (value === 0 && this.allowsConnectProtocol)) return ErrorCode.ProtocolError;
        this.allowsConnectProtocol = value === 1;
        return ErrorCode.NoError;
      default:
        return ErrorCode.NoError;
    }
  }
}
