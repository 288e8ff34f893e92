/** How many invitations a person and an organization may make, and one address may get. The rest fails: no link is shown. */
import {
  INVITATIONS_PER_ORGANIZATION,
  INVITATIONS_PER_PERSON,
  MAILS_PER_ADDRESS,
} from '../../contracts/limits.ts'
import type { Mail, Storage } from '../dependencies.ts'
import { throttle } from '../throttle.ts'

/** In the transaction of the invitation, so that a refused one uses up nothing. */
export async function throttleInvitation(
  deps: Storage & Mail,
  { userId, orgId, email }: { userId: string; orgId: string; email: string },
): Promise<void> {
  await throttle(deps, `invitations-by:${userId}`, INVITATIONS_PER_PERSON)
  await throttle(deps, `invitations-of:${orgId}`, INVITATIONS_PER_ORGANIZATION)
  await throttleInvitationMail(deps, orgId, email)
}

/** Per organization: one that mails an address often must not keep the others, or the operator, from inviting it. */
export async function throttleInvitationMail(
  deps: Storage & Mail,
  orgId: string,
  email: string,
): Promise<void> {
  if (deps.mail) await throttle(deps, `invitation-mail:${orgId}:${email}`, MAILS_PER_ADDRESS)
}
