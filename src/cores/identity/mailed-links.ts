/** Single-use links: one verifies an address, two reset a password, by mail or handed over by the operator. */
import { and, eq, gt, inArray } from '../../../db/drizzle.ts'
import { mailedLinks } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { MAIL_LINK_SECONDS, OPERATOR_LINK_SECONDS } from '../../contracts/limits.ts'
import { keyedHash, randomSecret } from '../../trust/keyed-hash.ts'
import type { Keys, Log, Mail, Storage } from '../dependencies.ts'

export type LinkDeps = Storage & Keys & Mail & Log & { readonly pagesUrl: URL }

type Purpose = (typeof mailedLinks.$inferSelect)['purpose']

const LINKS: Record<Purpose, { page: string; seconds: number }> = {
  'verify-email': { page: '/auth/verify/', seconds: MAIL_LINK_SECONDS },
  'reset-password': { page: '/auth/reset/', seconds: MAIL_LINK_SECONDS },
  // Nobody read it in a mailbox, so it proves no address.
  'operator-reset': { page: '/auth/reset/', seconds: OPERATOR_LINK_SECONDS },
}

export const RESET_PURPOSES = ['reset-password', 'operator-reset'] as const

const linkHash = (deps: Keys, purpose: Purpose, secret: string) =>
  keyedHash(deps.keyFor('mailed-link'), `${purpose}:${secret}`)

export async function createMailedLink(
  deps: Pick<LinkDeps, 'db' | 'clock' | 'keyFor' | 'pagesUrl'>,
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
    expiresAt: new Date(deps.clock().getTime() + LINKS[purpose].seconds * 1000),
  })
  return new URL(LINKS[purpose].page + secret, deps.pagesUrl).href
}

export const deadLink = () => new ServiceError('NOT_FOUND', 'This link is no longer valid')

export const consumeMailedLink = (deps: Storage & Keys, purpose: Purpose, secret: string, userId?: string) =>
  consume(deps, [purpose], secret, userId)

export const consumeResetLink = (deps: Storage & Keys, secret: string) =>
  consume(deps, RESET_PURPOSES, secret, undefined)

async function consume(
  deps: Storage & Keys,
  purposes: readonly Purpose[],
  secret: string,
  userId: string | undefined,
) {
  const hashes = purposes.map((purpose) => linkHash(deps, purpose, secret))
  const [row] = await deps.db
    .delete(mailedLinks)
    .where(
      and(
        inArray(mailedLinks.secretHash, hashes),
        gt(mailedLinks.expiresAt, deps.clock()),
        userId === undefined ? undefined : eq(mailedLinks.userId, userId),
      ),
    )
    .returning()
  if (!row) throw deadLink()
  return row
}
