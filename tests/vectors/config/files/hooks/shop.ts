export default { onRequest: () => undefined };
