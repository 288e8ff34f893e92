/** The face of the identity core. */
export { insertUser, profileOf, registerByInvitation, rename, replacePassword } from './accounts.ts'
export { apiTokenHash, endToken, makeToken, tokensOf } from './api-tokens.ts'
export { askForReset, mailVerification, resetPassword, verifyAddress, type LinkNeeds } from './mailed-links.ts'
export {
  endEverySession,
  endSession,
  findBrowserSession,
  mySessions,
  renewSession,
  type SessionNeeds,
  type SignedIn,
} from './sessions.ts'
export { issueSignInCode, swapSignInCode } from './sign-in-codes.ts'
export { checkPassword, signIn, type PasswordNeeds } from './sign-in-with-password.ts'
export { rememberAttempt, signInAs, takeAttempt, type ProvenPerson } from './sign-in-with-provider.ts'
export { validate, type Presented, type Validated, type ValidationNeeds } from './validate-token.ts'
