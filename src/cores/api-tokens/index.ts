/** What the api-tokens core exports. */
export { revokeApiTokens } from './revoke-api-tokens.ts'
