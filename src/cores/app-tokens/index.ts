/** What the app tokens core exports. */
export { createAppToken } from './create-app-token.ts'
export { listAppTokens } from './list-app-tokens.ts'
export { revokeAppToken } from './revoke-app-token.ts'
export { validateAppToken, type ValidatedAppToken } from './validate-app-token.ts'
