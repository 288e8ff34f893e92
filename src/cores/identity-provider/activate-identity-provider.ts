/**
 * Turns the identity provider on, with a proof that it is the organization's: an assertion for the owner who does it, in
 * one of its domains. Owners alone, because whoever runs a provider can act as any member by it.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import {
  assertionUses,
  identityLinks,
  organizationIdentityProviders as providers,
  users,
} from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { REFUSALS } from '../../contracts/identity-provider-states.ts'
import { makeId } from '../../contracts/ids.ts'
import { recordAudit } from '../record-audit.ts'
import type { MemberPrincipal } from '../principal.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import { acceptedUntil, assertionUseId } from './assertion-use-id.ts'
import { claimIssuer } from './claim-issuer.ts'
import type { ProviderDeps } from './dependencies.ts'
import { readProviderMetadata } from './provider-metadata.ts'
import { findProvider, lockProvider, presentProvider, type ProviderRow } from './provider-rows.ts'
import { requireEnterpriseAuth } from './require-enterprise-auth.ts'
import { requireTenantRule } from './require-tenant-rule.ts'
import { throttleFetches } from './throttle-fetches.ts'
import { trustOf } from './trust-of.ts'
import { isRefused, readAssertion, verifyAssertion, type Assertion } from './verify-assertion.ts'
import { isInDomains } from './vouched-email.ts'

export const activateIdentityProvider: Verb<'activateIdentityProvider', ProviderDeps> = writeInSteps(
  { author: 'owner', audit: ['identity_provider.activated', 'identity_link.created'] },
  async (context, { assertion }) => {
    const { db, clock, orgId, userId, transaction } = context
    requireEnterpriseAuth(context)
    const found = await findProvider(db, orgId)
    requireTenantRule(found)
    await throttleFetches(context, orgId)
    const jwksUri = await readKeyAddress(context, found)
    const proof = await verify(context, { ...found, jwksUri }, assertion)
    return transaction(async ({ tx, member, audit }) => {
      const provider = await lockProvider(tx, orgId)
      // Removed, and another one added, while this one was being read.
      if (provider.id !== found.id) throw new ServiceError('CONFLICT')
      const provenDomain = await requireOwnAddress(tx, member, proof)
      await claimIssuer(tx, provider)
      await useUp(tx, context, provider, proof)
      const [row] = await tx
        .update(providers)
        .set({
          state: 'on',
          jwksUri,
          provenBy: userId,
          provenAt: clock(),
          provenDomain,
          edition: provider.edition + 1,
        })
        .where(eq(providers.id, provider.id))
        .returning()
      await audit('identity_provider.activated', `${provider.name}: ${provider.issuer}`)
      await link(tx, context, member, provider, proof)
      return presentProvider({ ...context, db: tx }, row!)
    })
  },
)

/** Pinned anew: an owner is there who proves that they are still the right ones. */
async function readKeyAddress(
  { guardedFetch, providerKeys }: ProviderDeps,
  { issuer }: ProviderRow,
): Promise<string> {
  const metadata = await readProviderMetadata(guardedFetch, issuer)
  if ('problem' in metadata) throw unproven([`issuer: ${metadata.problem}`])
  if (!(await providerKeys.read(metadata.jwksUri))) throw unproven(['issuer: its keys could not be read'])
  return metadata.jwksUri
}

async function verify(deps: ProviderDeps, provider: ProviderRow, text: string): Promise<Assertion> {
  const read = readAssertion(text)
  if (isRefused(read)) throw unproven([`assertion: ${REFUSALS[read.reason]}`])
  if (read.issuer !== provider.issuer) throw unproven([`assertion: ${REFUSALS.issuer}`])
  const verified = await verifyAssertion(read, await trustOf(deps.db, provider), {
    keys: deps.providerKeys,
    audience: deps.issuer.origin,
    clientId: undefined,
    // Which clients may come in is decided once somebody can.
    checkClient: () => undefined,
    now: deps.clock(),
  })
  if (isRefused(verified)) throw unproven([`assertion: ${REFUSALS[verified.reason]}`])
  return verified
}

const unproven = (problems: readonly string[]) =>
  new ServiceError('INVALID_REQUEST', 'This does not prove that the identity provider is yours', {
    problems,
    hint: 'Try the assertion first: that shows every check.',
  })

/**
 * The person at the provider must be the one who does this: with their own address, which they have verified here, in a
 * domain that the operator gave to the organization, which it says. An address that the provider itself calls unverified
 * is anybody's; in such a domain it need not call it anything.
 */
async function requireOwnAddress(
  tx: Transaction,
  member: MemberPrincipal,
  { email }: Assertion,
): Promise<string> {
  if (email === undefined) throw unproven([`assertion: ${REFUSALS.email_unverified}`])
  if (email.address !== (await ownVerifiedAddress(tx, member.userId))) {
    throw unproven(['assertion: its address is not yours, or you have not verified yours'])
  }
  const domain = email.address.slice(email.address.lastIndexOf('@') + 1)
  if (!(await isInDomains(tx, member.orgId, email.address))) {
    throw unproven(['assertion: its address is outside the email domains of the organization'])
  }
  return domain
}

async function ownVerifiedAddress(db: Handle, userId: string): Promise<string | undefined> {
  const [user] = await db.select().from(users).where(eq(users.id, userId))
  return user && user.emailVerifiedAt !== null ? user.email.toLowerCase() : undefined
}

/** Like one that is exchanged: it is good once, for this or for a token. */
async function useUp(
  tx: Transaction,
  deps: ProviderDeps,
  provider: ProviderRow,
  proof: Assertion,
): Promise<void> {
  const [used] = await tx
    .insert(assertionUses)
    .values({
      id: assertionUseId(deps, provider, proof),
      providerId: provider.id,
      clientId: String(proof.claims.client_id),
      grantId: '',
      usedAt: deps.clock(),
      expiresAt: acceptedUntil(proof),
    })
    .onConflictDoNothing()
    .returning({ id: assertionUses.id })
  if (!used) throw unproven([`assertion: ${REFUSALS.replayed}`])
}

async function link(
  tx: Transaction,
  { clock }: ProviderDeps,
  member: MemberPrincipal,
  provider: ProviderRow,
  { subject }: Assertion,
): Promise<void> {
  const now = clock()
  const [made] = await tx
    .insert(identityLinks)
    .values({
      id: makeId('idl', now.getTime()),
      providerId: provider.id,
      subject,
      userId: member.userId,
      linkedBy: 'proof',
      createdAt: now,
    })
    .onConflictDoNothing()
    .returning()
  if (made) {
    const subjectOfRow = `${subject}: ${member.userEmail ?? member.userName}`
    await recordAudit(tx, clock, member, {
      orgId: member.orgId,
      action: 'identity_link.created',
      subject: subjectOfRow,
    })
    return
  }
  const [known] = await tx
    .select()
    .from(identityLinks)
    .where(and(eq(identityLinks.providerId, provider.id), eq(identityLinks.subject, subject)))
  if (known?.userId !== member.userId) {
    throw new ServiceError('CONFLICT', 'The subject of this assertion is linked to somebody else', {
      hint: 'Remove that link first.',
    })
  }
}
