/** What the identity core exports. */
export { insertUser } from './insert-user.ts'
export { registerWithInvitation } from './register-with-invitation.ts'
export { insertApiToken } from './api-token-rows.ts'
export type { LinkDeps } from './mailed-links.ts'
export { requestPasswordReset } from './request-password-reset.ts'
export { createOperatorResetLink } from './create-operator-reset-link.ts'
export { resetPassword } from './reset-password.ts'
export { verifyEmail } from './verify-email.ts'
export { endBrowserSession } from './end-browser-session.ts'
export { findKnownDevice, rememberDevice } from './known-device.ts'
export { findBrowserSession, findSession } from './find-session.ts'
export type { SessionDeps, SignedIn } from './start-session.ts'
export { issueSignInCode, consumeSignInCode } from './sign-in-codes.ts'
export {
  approveCliLogin,
  denyCliLogin,
  findBrowserLogin,
  findDeviceLogin,
  organizationsOf,
  showUserCode,
  startBrowserLogin,
  startDeviceLogin,
  stateOf,
  type CliLogin,
} from './cli-logins.ts'
export {
  endCliSession,
  redeemAuthorizationCode,
  redeemDeviceCode,
  refreshCliSession,
  type CliTokenAnswer,
  type GrantRefusal,
} from './cli-sessions.ts'
export { startPasswordSession, type PasswordDeps } from './sign-in-with-password.ts'
export type { SignInProvider } from './sign-in-provider.ts'
export { consumeSignInAttempt, saveSignInAttempt } from './sign-in-attempts.ts'
export { signInWithProvider } from './sign-in-with-provider.ts'
export { findTokenRights } from './validate-api-token.ts'
export { validateToken } from './validate-token.ts'
export type { TokenValidation, ValidationDeps } from './validation.ts'
export { sweepSignIns } from './sweep-sign-ins.ts'
