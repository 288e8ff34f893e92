/**
 * How the client signs in: RFC 8252 with a pushed request (RFC 9126), or RFC 8628. Not operations, and in no discovery
 * document: they are for one client, which knows where they are.
 */

export const CLI_PATH = '/api/v1/cli'
export const CLI_CLIENT_ID = 'svc'
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 8252, 7.3: an address of this machine, whatever the port. */
export const CLI_REDIRECT = /^http:\/\/(127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}\/callback$/
