/** Invitations as rows and as links: made here, handed over by mail, or shown to the inviter when no mail went out. */
import { and, eq, isNull } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { invitations } from '../../../db/schema.ts'
import { makeId } from '../../contracts/ids.ts'
import { INVITATION_SECONDS, MAILS_PER_ADDRESS } from '../../contracts/limits.ts'
import type { GRANTABLE_ROLES } from '../../contracts/roles.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { Keys, Log, Mail, Storage } from '../needs.ts'
import { takeTry } from '../throttle.ts'

export type InvitationNeeds = Storage & Keys & Mail & Log & { readonly pagesUrl: URL }

export type MadeInvitation = { row: typeof invitations.$inferSelect; secret: string }

export const invitationHash = (needs: Keys, secret: string): string =>
  keyedHash(needs.keyFor('invitation'), secret)

export async function insertInvitation(
  tx: Transaction,
  needs: InvitationNeeds,
  asked: {
    orgId: string
    email: string
    role: (typeof GRANTABLE_ROLES)[number]
    invitedBy: string | null
    waitingUserId?: string
  },
): Promise<MadeInvitation> {
  const now = needs.clock()
  const secret = randomSecret()
  // Inviting again replaces the earlier link: only the newest one opens the door.
  await tx
    .update(invitations)
    .set({ revokedAt: now })
    .where(
      and(
        eq(invitations.orgId, asked.orgId),
        eq(invitations.email, asked.email),
        isNull(invitations.acceptedAt),
        isNull(invitations.revokedAt),
      ),
    )
  const [row] = await tx
    .insert(invitations)
    .values({
      orgId: asked.orgId,
      id: makeId('inv', now.getTime()),
      email: asked.email,
      role: asked.role,
      secretHash: invitationHash(needs, secret),
      invitedBy: asked.invitedBy,
      waitingUserId: asked.waitingUserId ?? null,
      sentByMail: needs.mail !== null,
      createdAt: now,
      expiresAt: new Date(now.getTime() + INVITATION_SECONDS * 1000),
    })
    .returning()
  return { row: row!, secret }
}

/** The link to show, or null when it went out by mail. Called after the commit: mail is slow and may fail. */
export async function handOverInvitation(
  needs: InvitationNeeds,
  { row, secret }: MadeInvitation,
  organization: string,
  inviter: string,
): Promise<string | null> {
  if (!needs.mail) return linkTo(needs, secret)
  try {
    await takeTry(needs, `mail:${row.email}`, MAILS_PER_ADDRESS)
    await needs.mail({
      to: row.email,
      subject: `Join ${organization} on svc`,
      text: [
        `${inviter} invites you to ${organization} as ${row.role}.`,
        `Open this link within seven days to join:`,
        linkTo(needs, secret),
        `If you do not know what this is about, do nothing: the link expires by itself.`,
      ].join('\n\n'),
    })
    return null
  } catch (error) {
    needs.log.warn('invitation mail could not be sent', { error })
    return linkTo(needs, await replaceSecret(needs, row))
  }
}

/** A link that the inviter sees proves nothing about the address, so it is another link than the mailed one. */
async function replaceSecret(needs: InvitationNeeds, row: MadeInvitation['row']): Promise<string> {
  const secret = randomSecret()
  await needs.db
    .update(invitations)
    .set({ sentByMail: false, secretHash: invitationHash(needs, secret) })
    .where(and(eq(invitations.orgId, row.orgId), eq(invitations.id, row.id)))
  return secret
}

const linkTo = (needs: InvitationNeeds, secret: string): string =>
  new URL(`/auth/invitation/${secret}`, needs.pagesUrl).href
