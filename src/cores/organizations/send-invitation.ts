/** Creates an invitation and sends its link by mail, or returns the link when no mail was sent. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { invitations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { receivesMail } from '../../contracts/fields.ts'
import { INVITATION_SECONDS } from '../../contracts/limits.ts'
import type { GRANTABLE_ROLES } from '../../contracts/roles.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { Keys, Log, Mail, Storage } from '../dependencies.ts'
import { recordEnding } from '../record-ending.ts'
import { invitationMail } from './invitation-mail.ts'

export type InvitationDeps = Storage & Keys & Mail & Log & { readonly pagesUrl: URL }

export type NewInvitation = { row: typeof invitations.$inferSelect; secret: string }

export const invitationHash = (deps: Keys, secret: string): string =>
  keyedHash(deps.keyFor('invitation'), secret)

export async function insertInvitation(
  tx: Transaction,
  deps: InvitationDeps,
  input: {
    orgId: string
    email: string
    role: (typeof GRANTABLE_ROLES)[number]
    invitedBy: string | null
    madeWithTokenId?: string | undefined
    /** What it was made with ends then. */
    endsBy?: Date | null
    waitingUserId?: string
  },
): Promise<NewInvitation> {
  const now = deps.clock()
  const secret = randomSecret()
  // Inviting again replaces the earlier link: only the newest one works.
  const replaced = await tx
    .update(invitations)
    .set({ revokedAt: now })
    .where(
      and(
        eq(invitations.orgId, input.orgId),
        eq(invitations.email, input.email),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
    .returning({ id: invitations.id, orgId: invitations.orgId })
  recordEnding(tx, 'invitation', replaced)
  const [row] = await tx
    .insert(invitations)
    .values({
      orgId: input.orgId,
      id: makeId('inv', now.getTime()),
      email: input.email,
      role: input.role,
      secretHash: invitationHash(deps, secret),
      invitedBy: input.invitedBy,
      madeWithTokenId: input.madeWithTokenId ?? null,
      waitingUserId: input.waitingUserId ?? null,
      sentByMail: deps.mail !== null && receivesMail(input.email),
      createdAt: now,
      expiresAt: new Date(
        Math.min(now.getTime() + INVITATION_SECONDS * 1000, input.endsBy?.getTime() ?? Infinity),
      ),
    })
    .returning()
  return { row: row!, secret }
}

/** The link to show, or null when it was mailed. Called after the commit: mail is slow and may fail. */
export async function sendInvitation(
  deps: InvitationDeps,
  { row, secret }: NewInvitation,
  organization: string,
  inviter: string | null,
): Promise<string | null> {
  if (!deps.mail || !row.sentByMail) return linkTo(deps, secret)
  try {
    const link = linkTo(deps, secret)
    await deps.mail(invitationMail({ to: row.email, organization, inviter, role: row.role, link }))
    return null
  } catch (error) {
    deps.log.warn('invitation mail could not be sent', { error })
    return linkTo(deps, await replaceSecret(deps, row))
  }
}

/** A link that the inviter sees proves nothing about the address, so it is another link than the mailed one. */
async function replaceSecret(deps: InvitationDeps, row: NewInvitation['row']): Promise<string> {
  const secret = randomSecret()
  await deps.db
    .update(invitations)
    .set({ sentByMail: false, secretHash: invitationHash(deps, secret) })
    .where(and(eq(invitations.orgId, row.orgId), eq(invitations.id, row.id)))
  return secret
}

const linkTo = (deps: InvitationDeps, secret: string): string =>
  new URL(`/auth/invitation/${secret}`, deps.pagesUrl).href
