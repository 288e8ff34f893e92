/** What the api-tokens core exports. */
export { isMadeWith } from './is-made-with.ts'
export { revokeApiTokens } from './revoke-api-tokens.ts'
