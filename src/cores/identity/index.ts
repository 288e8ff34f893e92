/** The face of the identity core. */
export { insertUser, profileOf, registerByInvitation, rename, replacePassword } from './accounts.ts'
export { endToken, keepToken, makeToken, tokensOf } from './api-tokens.ts'
export {
  askForReset,
  mailVerification,
  resetPassword,
  verifyAddress,
  type LinkNeeds,
} from './mailed-links.ts'
export {
  endEverySession,
  endSession,
  findBrowserSession,
  findSession,
  mySessions,
  renewSession,
  type SessionNeeds,
  type SignedIn,
} from './sessions.ts'
export { issueSignInCode, swapSignInCode, takeSignInCode } from './sign-in-codes.ts'
export { checkPassword, signIn, type PasswordNeeds } from './sign-in-with-password.ts'
export type { SignInProvider } from './sign-in-provider.ts'
export { rememberAttempt, signInAs, takeAttempt } from './sign-in-with-provider.ts'
export { validate, type Validated, type ValidationNeeds } from './validate-token.ts'
