/** A walk to the chat service and back: begun by one person for one organization, good once and not for long. */
import { and, eq, gt, isNotNull } from '../../../db/drizzle.ts'
import { chatAttempts, integrations } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../../contracts/limits.ts'
import { randomSecret, sha256 } from '../../trust/keyed-hash.ts'
import type { MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import type { ChatApp } from './channel.ts'

export type ChatNeeds = Storage & {
  /** Null where the operator has set up no app at a chat service. */
  readonly chatApp: ChatApp | null
}

export function requireChatApp({ chatApp }: ChatNeeds): ChatApp {
  if (chatApp) return chatApp
  throw new ServiceError('CONFLICT', 'No chat app is set up in this installation', {
    hint: 'Paste the address of an incoming webhook instead, or ask the operator.',
  })
}

export async function beginAttempt(
  { db, clock }: Storage,
  { orgId, userId }: MemberCaller,
  purpose: 'install' | 'link',
): Promise<{ readonly state: string; readonly nonce: string }> {
  const [state, nonce] = [randomSecret(), randomSecret()]
  const expiresAt = new Date(clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000)
  await db.insert(chatAttempts).values({ stateHash: sha256(state), orgId, userId, purpose, nonce, expiresAt })
  return { state, nonce }
}

/** Taken whatever happens next: one that came back with somebody else was not theirs to bring. */
export async function takeAttempt(
  { db, clock }: Storage,
  { orgId, userId }: MemberCaller,
  purpose: 'install' | 'link',
  state: string,
): Promise<{ readonly nonce: string }> {
  const [row] = await db
    .delete(chatAttempts)
    .where(and(eq(chatAttempts.stateHash, sha256(state)), gt(chatAttempts.expiresAt, clock())))
    .returning()
  if (row?.orgId === orgId && row.userId === userId && row.purpose === purpose) return row
  throw startAgain()
}

const startAgain = () =>
  new ServiceError('CONFLICT', 'This way to the chat service is not open any more', {
    hint: 'Begin again.',
  })

/** What the chat service says, or that it said nothing: its own words stay in the log. */
export async function heard<T>(answer: Promise<T | undefined>): Promise<T> {
  const said = await answer.catch((cause: unknown) => {
    throw new ServiceError('TIMEOUT', 'The chat service did not answer', { hint: 'Begin again.', cause })
  })
  if (said === undefined) throw startAgain()
  return said
}

/** The workspaces with an app of ours that works, the newest connection first. */
export async function connectedTeams({ db }: Storage, orgId: string): Promise<string[]> {
  const rows = await db
    .select({ id: integrations.id, teamId: integrations.teamId })
    .from(integrations)
    .where(
      and(
        eq(integrations.orgId, orgId),
        eq(integrations.kind, 'chat'),
        eq(integrations.state, 'active'),
        isNotNull(integrations.teamId),
      ),
    )
  const newestFirst = rows.toSorted((a, b) => (a.id < b.id ? 1 : -1))
  return [...new Set(newestFirst.flatMap(({ teamId }) => teamId ?? []))]
}

/** A name of the chat service's as one line that cannot lie about itself on a page. */
export const asName = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu, '')
    .trim()
    .slice(0, 120)
