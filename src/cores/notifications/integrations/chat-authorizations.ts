/** OAuth flows at the chat service: started by one person for one organization, usable once and not for long. */
import { and, eq, gt, lt } from '../../../../db/drizzle.ts'
import { chatAuthorizations } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../../../contracts/limits.ts'
import { randomSecret, sha256 } from '../../../trust/keyed-hash.ts'
import type { MemberPrincipal } from '../../principal.ts'
import type { Storage } from '../../dependencies.ts'
import type { ChatApp } from '../channels/channel-ports.ts'

export type ChatDeps = Storage & {
  /** Null where the operator has set up no app at a chat service. */
  readonly chatApp: ChatApp | null
}

export function requireChatApp({ chatApp }: ChatDeps): ChatApp {
  if (chatApp) return chatApp
  throw new ServiceError('CONFLICT', 'No chat app is configured in this installation', {
    hint: 'Paste the address of an incoming webhook instead, or ask the operator.',
  })
}

export async function createChatAuthorization(
  { db, clock }: Storage,
  { orgId, userId }: MemberPrincipal,
  purpose: 'install' | 'link',
): Promise<{ readonly state: string; readonly nonce: string }> {
  const [state, nonce] = [randomSecret(), randomSecret()]
  const expiresAt = new Date(clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000)
  await db
    .insert(chatAuthorizations)
    .values({ stateHash: sha256(state), orgId, userId, purpose, nonce, expiresAt })
  return { state, nonce }
}

/**
 * Deleted by its state alone, so that one that comes back from another person or organization is refused and of no use to
 * anybody afterwards. No index begins with the state: the table holds the flows of the last minutes only.
 */
export async function spendChatAuthorization(
  { db, clock }: Storage,
  { orgId, userId }: MemberPrincipal,
  purpose: 'install' | 'link',
  state: string,
): Promise<{ readonly nonce: string }> {
  const [row] = await db
    .delete(chatAuthorizations)
    .where(and(eq(chatAuthorizations.stateHash, sha256(state)), gt(chatAuthorizations.expiresAt, clock())))
    .returning()
  if (row?.orgId === orgId && row.userId === userId && row.purpose === purpose) return row
  throw expired()
}

const expired = () =>
  new ServiceError('CONFLICT', 'This request to the chat service has expired', { hint: 'Start again.' })

/** The chat service's own words stay in the log. */
export async function chatServiceAnswer<T>(answer: Promise<T | undefined>): Promise<T> {
  const answered = await answer.catch((cause: unknown) => {
    throw new ServiceError('TIMEOUT', 'The chat service did not answer', { hint: 'Start again.', cause })
  })
  if (answered === undefined) throw expired()
  return answered
}

/** A name from the chat service as one line without control and formatting characters. */
export const asName = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, '')
    .trim()
    .slice(0, 120)

export async function sweepChatAuthorizations({ db, clock }: Storage): Promise<void> {
  await db.delete(chatAuthorizations).where(lt(chatAuthorizations.expiresAt, clock()))
}
