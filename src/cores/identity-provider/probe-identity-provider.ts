/** Reads what the identity provider publishes, and says check by check what would become of an assertion. */
import type { Handle } from '../../../db/connect.ts'
import { and, eq } from '../../../db/drizzle.ts'
import { organizationClientBlocks, organizations } from '../../../db/schema.ts'
import { REFUSAL_REASONS, type RefusalReason } from '../../contracts/identity-provider-states.ts'
import { resourceAt } from '../grants/index.ts'
import { read, type Verb } from '../verb.ts'
import { findClients } from './allowed-clients.ts'
import { findPerson, type FoundPerson } from './find-person.ts'
import type { ProviderDeps } from './dependencies.ts'
import type { ProviderKey } from './provider-keys.ts'
import { readProviderMetadata, type ProviderMetadata } from './provider-metadata.ts'
import { findProvider, type ProviderRow } from './provider-rows.ts'
import { findRules } from './provider-rules.ts'
import { rightsOf } from './rights.ts'
import { throttleFetches } from './throttle-fetches.ts'
import { trustOf } from './trust-of.ts'
import {
  isRefused,
  readAssertion,
  verifyAssertion,
  type Assertion,
  type Refused,
} from './verify-assertion.ts'

export const probeIdentityProvider: Verb<'probeIdentityProvider', ProviderDeps> = read(
  async (context, { assertion }) => {
    const { db, orgId, guardedFetch, providerKeys } = context
    const provider = await findProvider(db, orgId)
    await throttleFetches(context, orgId)
    const metadata = await readProviderMetadata(guardedFetch, provider.issuer)
    const keys = await providerKeys.read(provider.jwksUri)
    return {
      metadata: presentMetadata(metadata, provider),
      keys: (keys ?? []).map(presentKey),
      keys_problem: keys ? null : 'They could not be read',
      assertion: assertion === undefined ? null : await tryAssertion(context, provider, assertion),
    }
  },
)

const presentMetadata = (metadata: ProviderMetadata, { jwksUri }: ProviderRow) =>
  'problem' in metadata
    ? { problem: metadata.problem, jwks_uri: null, is_pinned: false }
    : { problem: null, jwks_uri: metadata.jwksUri, is_pinned: metadata.jwksUri === jwksUri }

const presentKey = ({ id, algorithm, key }: ProviderKey) => ({
  kid: id ?? null,
  kty: key.asymmetricKeyType ?? 'unknown',
  alg: algorithm ?? null,
})

/** What it says of itself is shown in any case: whoever tries it has it before them. */
async function tryAssertion(deps: ProviderDeps, provider: ProviderRow, text: string) {
  const read = readAssertion(text)
  // Of one that cannot be read nothing more is known, also where it is a claim that is wrong.
  if (isRefused(read)) return outcomeOf(read.reason, 'issuer')
  const { subject, claims } = read
  const clientId = typeof claims.client_id === 'string' ? claims.client_id : ''
  const said = { subject, client_id: clientId || null }
  if (read.issuer !== provider.issuer) return { ...outcomeOf('issuer'), ...said }
  const [allowed] = await findClients(deps.db, provider.id, { clientId })
  const verified = await verifyAssertion(read, await trustOf(deps.db, provider), {
    keys: deps.providerKeys,
    audience: deps.issuer.origin,
    clientId: undefined,
    checkClient: () => problemWithClient(allowed),
    now: deps.clock(),
  })
  if (isRefused(verified)) {
    return { ...outcomeOf(verified.reason, FIRST_UNREACHED[verified.reason]), ...said }
  }
  const { refusal, person } = await tryRights(deps, provider, verified, allowed!.client)
  return { ...outcomeOf(refusal), ...said, user: person?.user ?? null }
}

/** Where a claim is looked at before others that stand above it. */
const FIRST_UNREACHED: Partial<Record<RefusalReason, RefusalReason>> = {
  claims: 'expired',
  resource: 'not_linked',
}

type AllowedClient = Awaited<ReturnType<typeof findClients>>[number]

function problemWithClient(allowed: AllowedClient | undefined): Refused | undefined {
  if (!allowed) return { reason: 'client_not_allowed' }
  const isRefusedAsPublic = allowed.method === 'none' && !allowed.client.mayBePublic
  return isRefusedAsPublic ? { reason: 'client_public' } : undefined
}

type Outcome = { readonly refusal: RefusalReason | null; readonly person?: FoundPerson }

/** What comes after the assertion itself, in the order of an exchange. */
async function tryRights(
  { db, mcpUrl }: ProviderDeps,
  provider: ProviderRow,
  assertion: Assertion,
  { clientId, resources, maxScopes }: AllowedClient['client'],
): Promise<Outcome> {
  const found = await findPerson(db, provider, assertion)
  if (isRefused(found)) return { refusal: found.reason }
  const person = 'newcomer' in found ? undefined : found
  const outcome = (refusal: RefusalReason | null): Outcome => ({ refusal, ...(person && { person }) })
  const closed = await problemWithOrganization(db, provider.orgId, clientId)
  if (closed) return outcome(closed)
  const usual = resources.includes('platform') ? 'platform' : resources[0]
  const resource = assertion.resource === undefined ? usual : resourceAt(mcpUrl, assertion.resource)
  if (!resource || !resources.includes(resource)) return outcome('resource')
  const rules = await findRules(db, provider.id)
  const rights = rightsOf(
    { rules, defaultScopes: provider.defaultScopes, maxScopes },
    {
      role: person?.role ?? 'member',
      resource,
      claims: assertion.claims,
      claimed: assertion.scopes,
      requested: undefined,
    },
  )
  if (rights.scopes.length > 0) return outcome(null)
  return outcome(rights.rule !== null && rules[rights.rule]!.scopes.length === 0 ? 'rule' : 'scope')
}

async function problemWithOrganization(
  db: Handle,
  orgId: string,
  clientId: string,
): Promise<RefusalReason | undefined> {
  const [organization] = await db
    .select({ agentsEnabled: organizations.agentsEnabled, block: organizationClientBlocks.clientId })
    .from(organizations)
    .leftJoin(
      organizationClientBlocks,
      and(
        eq(organizationClientBlocks.orgId, organizations.id),
        eq(organizationClientBlocks.clientId, clientId),
      ),
    )
    .where(eq(organizations.id, orgId))
  if (!organization?.agentsEnabled) return 'agents_off'
  return organization.block === null ? undefined : 'client_blocked'
}

/** Whether it is on, and whether it was used before, is not asked: this is neither an exchange nor stored. */
const CHECKS: readonly RefusalReason[] = REFUSAL_REASONS.filter(
  (reason) => reason !== 'paused' && reason !== 'replayed',
)

/** `until`: the first check that was not reached, where one further down has failed already. */
function outcomeOf(refusal: RefusalReason | null, until: RefusalReason | null = refusal) {
  const reached = Math.min(
    ...[refusal, until].map((at) => (at === null ? CHECKS.length : CHECKS.indexOf(at))),
  )
  return {
    refusal,
    checks: CHECKS.map((check, index) => ({ check, result: resultOf(check === refusal, index < reached) })),
    subject: null,
    client_id: null,
    user: null,
  }
}

function resultOf(hasFailed: boolean, wasReached: boolean): 'passed' | 'failed' | 'not_reached' {
  if (hasFailed) return 'failed'
  return wasReached ? 'passed' : 'not_reached'
}
