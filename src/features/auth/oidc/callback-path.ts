/** Where an identity provider sends browsers back to, under the host of the request. docs/authentication.md#openid-connect */
export const CALLBACK_PATH = "/.edge/oidc/callback";
