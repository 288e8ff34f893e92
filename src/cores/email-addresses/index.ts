/** What the email-addresses core exports. */
export { proveEmail, releaseEmail } from './prove-email.ts'
