/** Single-use links in mails: one verifies an address, one resets a password. */
import { and, eq, gt } from '../../../db/drizzle.ts'
import { mailedLinks } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { MAIL_LINK_SECONDS } from '../../contracts/limits.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { Keys, Log, Mail, Storage } from '../dependencies.ts'

export type LinkDeps = Storage & Keys & Mail & Log & { readonly pagesUrl: URL }

type Purpose = (typeof mailedLinks.$inferSelect)['purpose']

const PAGE: Record<Purpose, string> = { 'verify-email': '/auth/verify/', 'reset-password': '/auth/reset/' }

const linkHash = (deps: Keys, purpose: Purpose, secret: string) =>
  keyedHash(deps.keyFor('mailed-link'), `${purpose}:${secret}`)

export async function createMailedLink(
  deps: LinkDeps,
  purpose: Purpose,
  userId: string,
  email: string,
): Promise<string> {
  const secret = randomSecret()
  await deps.db.insert(mailedLinks).values({
    secretHash: linkHash(deps, purpose, secret),
    purpose,
    userId,
    email,
    expiresAt: new Date(deps.clock().getTime() + MAIL_LINK_SECONDS * 1000),
  })
  return new URL(PAGE[purpose] + secret, deps.pagesUrl).href
}

export async function consumeMailedLink(
  deps: Storage & Keys,
  purpose: Purpose,
  secret: string,
  userId?: string,
) {
  const [row] = await deps.db
    .delete(mailedLinks)
    .where(
      and(
        eq(mailedLinks.secretHash, linkHash(deps, purpose, secret)),
        gt(mailedLinks.expiresAt, deps.clock()),
        userId === undefined ? undefined : eq(mailedLinks.userId, userId),
      ),
    )
    .returning()
  if (!row) throw new ServiceError('NOT_FOUND', 'This link is no longer valid')
  return row
}
