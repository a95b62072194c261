/** Bytes of a FileDescriptorSet, and of the descriptors that one upstream tells of itself. */
export const MAX_DESCRIPTOR_BYTES = 16 * 1024 * 1024;
