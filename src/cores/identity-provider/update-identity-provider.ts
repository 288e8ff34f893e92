/** Changes, pauses or resumes the identity provider. What gives less from now on also ends what was given before. */
import { eq } from '../../../db/drizzle.ts'
import { organizationIdentityProviders as providers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { IDENTITY_LINKINGS, type IdentityLinking } from '../../contracts/identity-provider-states.ts'
import { requireRole } from '../principal.ts'
import { write, type Verb } from '../verb.ts'
import { claimIssuer } from './claim-issuer.ts'
import type { ProviderDeps } from './dependencies.ts'
import { andEnded, endGrantsOf, lockProvider, presentProvider, type ProviderRow } from './provider-rows.ts'
import { requireEnterpriseAuth } from './require-enterprise-auth.ts'

export const updateIdentityProvider: Verb<'updateIdentityProvider', ProviderDeps> = write(
  {
    author: 'admin',
    audit: ['identity_provider.paused', 'identity_provider.resumed', 'identity_provider.changed'],
  },
  async (context, input) => {
    const { tx, clock, member, orgId, audit } = context
    const before = await lockProvider(tx, orgId)
    // An admin who can make the provider say something could otherwise link it to people above them.
    if (input.linking !== undefined && isMore(input.linking, before.linking)) {
      requireRole(member, 'owner', 'Only an owner may let the provider link more people')
    }
    const isResumed = input.state === 'on' && before.state !== 'on'
    // Required while nobody can come in by it, it would shut everybody out.
    const isDemanded = input.is_required === true && !before.isRequired
    if (input.state !== undefined || isDemanded) requireProven(before)
    if (isResumed || isDemanded) requireEnterpriseAuth(context)
    if (isResumed) await claimIssuer(tx, before)
    const after = {
      name: input.name ?? before.name,
      state: input.state ?? before.state,
      linking: input.linking ?? before.linking,
      defaultScopes: input.default_scopes ? [...new Set(input.default_scopes)] : before.defaultScopes,
      assertionSeconds: input.assertion_seconds ?? before.assertionSeconds,
      tokenMinutes: input.token_minutes ?? before.tokenMinutes,
      isRequired: input.is_required ?? before.isRequired,
    }
    const [row] = await tx.update(providers).set(after).where(eq(providers.id, before.id)).returning()
    const isPaused = before.state === 'on' && after.state === 'paused'
    const ended =
      isPaused || isNarrower(before, after)
        ? await endGrantsOf(tx, clock, before, isPaused ? 'provider_paused' : 'rules_changed')
        : 0
    if (isPaused || isResumed) {
      await audit(
        isPaused ? 'identity_provider.paused' : 'identity_provider.resumed',
        andEnded(after.name, ended),
      )
    }
    const changes = changesBetween(before, after)
    if (changes.length > 0) {
      await audit('identity_provider.changed', andEnded(changes.join('; '), isPaused ? 0 : ended))
    }
    return presentProvider(context, row!)
  },
)

function requireProven({ provenAt }: ProviderRow): void {
  if (provenAt !== null) return
  throw new ServiceError('CONFLICT', 'Nobody has proven yet that the identity provider is yours', {
    hint: 'An owner activates it with an assertion for themselves.',
  })
}

type Changed = Pick<
  ProviderRow,
  'name' | 'linking' | 'defaultScopes' | 'assertionSeconds' | 'tokenMinutes' | 'isRequired'
>

const isMore = (one: IdentityLinking, other: IdentityLinking): boolean =>
  IDENTITY_LINKINGS.indexOf(one) > IDENTITY_LINKINGS.indexOf(other)

/** Whether somebody could have more by what was given before. */
const isNarrower = (before: Changed, after: Changed): boolean =>
  isMore(before.linking, after.linking) ||
  before.defaultScopes.some((scope) => !after.defaultScopes.includes(scope)) ||
  after.tokenMinutes < before.tokenMinutes

const changesBetween = (before: Changed, after: Changed): string[] =>
  [
    after.name !== before.name && `name: ${before.name} → ${after.name}`,
    after.linking !== before.linking && `linking: ${before.linking} → ${after.linking}`,
    String(after.defaultScopes) !== String(before.defaultScopes) &&
      `default scopes: ${after.defaultScopes.join(' ') || 'none'}`,
    after.assertionSeconds !== before.assertionSeconds &&
      `assertions: at most ${after.assertionSeconds} seconds`,
    after.tokenMinutes !== before.tokenMinutes && `tokens: ${after.tokenMinutes} minutes`,
    after.isRequired !== before.isRequired && (after.isRequired ? 'required' : 'no longer required'),
  ].filter((change) => change !== false)
