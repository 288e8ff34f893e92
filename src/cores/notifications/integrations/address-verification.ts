/**
 * Proves that somebody reads at the address of an email integration: a link is mailed there, and a page behind it has a
 * button. The link names the integration and carries a secret that is stored as a digest; only the newest one works.
 */
import type { Transaction } from '../../../../db/connect.ts'
import { and, eq } from '../../../../db/drizzle.ts'
import { integrations } from '../../../../db/schema.ts'
import { ServiceError } from '../../../contracts/errors.ts'
import { receivesMail } from '../../../contracts/fields.ts'
import {
  ADDRESS_VERIFICATION_SECONDS,
  ADDRESS_VERIFICATIONS_PER_ORGANIZATION,
  MAILS_PER_ADDRESS,
} from '../../../contracts/limits.ts'
import type { DataKeys } from '../../../trust/data-key.ts'
import { randomSecret, sameSecret, sha256 } from '../../../trust/keyed-hash.ts'
import type { Log, Mail, Message, Storage } from '../../dependencies.ts'
import type { WithDirectory } from '../../directory/index.ts'
import { composeMail } from '../../mail-template.ts'
import { nameInMail } from '../../mail-text.ts'
import { throttle } from '../../throttle.ts'
import { emailOf, openIntegrationSecret } from './integration-secret.ts'
import { integrationKey, type IntegrationDeps, type IntegrationRow } from './integration-rows.ts'

export type VerificationDeps = IntegrationDeps & Mail & Log & WithDirectory & { readonly siteUrl: URL }

export function requireMailTo({ mail }: Mail, address: string): void {
  if (mail === null) throw new ServiceError('CONFLICT', 'This installation has no mail server')
  if (receivesMail(address)) return
  throw new ServiceError('INVALID_REQUEST', 'No mail can reach this address', {
    problems: ['address: must be an address at which mail arrives'],
  })
}

/** A mail that is still to be sent, once the transaction is committed. */
export type PendingVerification = {
  readonly row: IntegrationRow
  readonly to: string
  readonly token: string
}

/**
 * A new link for the address that the row has now; an earlier one ends. Counted in the transaction, so that a refused one
 * uses up nothing, and apart from all other mails: what an organization connects must not cost anybody their invitation.
 */
export async function renewVerification(
  tx: Transaction,
  { clock, dataKeys }: VerificationDeps,
  row: IntegrationRow,
): Promise<PendingVerification> {
  const { orgId, id } = row
  const to = emailOf(openIntegrationSecret(dataKeys, row).url)
  await throttle(
    { db: tx, clock },
    `address-verifications-of:${orgId}`,
    ADDRESS_VERIFICATIONS_PER_ORGANIZATION,
  )
  await throttle({ db: tx, clock }, `address-verification-mail:${orgId}:${to}`, MAILS_PER_ADDRESS)
  const secret = randomSecret()
  const [renewed] = await tx
    .update(integrations)
    .set({
      verificationHash: sha256(secret),
      verificationExpiresAt: new Date(clock().getTime() + ADDRESS_VERIFICATION_SECONDS * 1000),
    })
    .where(integrationKey(row))
    .returning()
  return { row: renewed!, to, token: `v1.${orgId}.${id}.${secret}` }
}

/** After the commit: mail is slow and may fail. */
export async function mailVerification(
  { db, directory, mail, log, siteUrl }: VerificationDeps,
  { row, to, token }: PendingVerification,
): Promise<void> {
  const organization = await directory.readOrganization(db, row.orgId)
  const url = new URL(`/verify-address/${token}`, siteUrl).href
  try {
    await mail!({ to, ...verificationMail(organization?.name ?? '', url) })
  } catch (error) {
    log.warn('address verification could not be mailed', { integration: row.id, error })
    throw new ServiceError('CONFLICT', 'The mail with the link could not be sent', {
      hint: 'The integration is saved. Send the link again in a few minutes.',
    })
  }
}

/** To somebody who may not know us: nothing in it is free text. */
function verificationMail(organizationName: string, url: string): Omit<Message, 'to'> {
  const organization = nameInMail(organizationName)
  const subject = 'Confirm notifications to this address'
  return composeMail({
    subject,
    heading: subject,
    parts: [
      { text: `“${organization}” on svc wants to send its notifications to this address.` },
      { text: 'Open this link within a day, and confirm it there:' },
      { button: 'Confirm address', url },
    ],
    footer: 'If you do not want them, do nothing: nothing is sent to an address that nobody confirmed.',
  })
}

export type FindDeps = Storage & WithDirectory & { readonly dataKeys: DataKeys }

/**
 * Null for anything that is not, or no longer, the newest link of an integration, and for a link that somebody got before
 * they left: only an admin who sends another one afterwards wants them to confirm it.
 */
export async function findByVerification(
  { db, clock, directory, dataKeys }: FindDeps,
  token: string,
): Promise<IntegrationRow | null> {
  const [, orgId, id, secret] = /^v1\.(org_\w{1,60})\.(int_\w{1,60})\.([\w-]{43})$/.exec(token) ?? []
  if (orgId === undefined || id === undefined || secret === undefined) return null
  const [row] = await db
    .select()
    .from(integrations)
    .where(and(integrationKey({ orgId, id }), eq(integrations.kind, 'email')))
    .for('update')
  if (!row || row.verificationHash === null || row.verificationExpiresAt === null) return null
  if (row.verificationExpiresAt <= clock()) return null
  if (!sameSecret(row.verificationHash, sha256(secret))) return null
  const mailedAt = new Date(row.verificationExpiresAt.getTime() - ADDRESS_VERIFICATION_SECONDS * 1000)
  return (await hasHolderLeft({ db, directory, dataKeys }, row, mailedAt)) ? null : row
}

/** Whether the member whose address it is was removed, or left, since then. */
export async function hasHolderLeft(
  { db, directory, dataKeys }: Omit<FindDeps, 'clock'>,
  row: IntegrationRow,
  since: Date,
): Promise<boolean> {
  const email = emailOf(openIntegrationSecret(dataKeys, row).url)
  return (await directory.readAddressHolder(db, { orgId: row.orgId, email, since })) === 'former'
}

/** Whatever was proven of the address, and every link to it, ends. */
export const UNVERIFIED = { verifiedAt: null, verificationHash: null, verificationExpiresAt: null } as const
