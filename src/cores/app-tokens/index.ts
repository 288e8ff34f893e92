/** What the app tokens core exports. */
export { validateAppToken, type ValidatedAppToken } from './validate-app-token.ts'
