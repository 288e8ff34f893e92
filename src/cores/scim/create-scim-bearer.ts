import { scimBearers } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { makeScimBearer, scimBearerHash, scimBearerPrefix } from '../../trust/scim-bearer.ts'
import { readKeyEpoch } from '../key-epoch.ts'
import { listDomains } from '../organizations/index.ts'
import { write, type Verb } from '../verb.ts'
import { bareIssuer, baseUrl, presentBearer } from './bearer-rows.ts'
import type { ScimDeps } from './dependencies.ts'

export const createScimBearer: Verb<'createScimBearer', ScimDeps> = write(
  {
    author: 'owner',
    audit: 'scim.created',
    taken: { scim_bearers_by_organization: 'SCIM is set up already. Rotate its bearer, or remove it first.' },
  },
  async (context, input) => {
    const { tx, clock, orgId, userId, member, audit, issuer } = context
    const chosen = issuerFor(context, input)
    if ((await listDomains(tx, orgId)).length === 0) {
      throw new ServiceError('CONFLICT', 'The organization has no email domains', {
        hint: 'The operator sets them: only people with an address there can be provisioned.',
      })
    }
    const token = makeScimBearer()
    const now = clock()
    const [row] = await tx
      .insert(scimBearers)
      .values({
        orgId,
        id: makeId('scb', now.getTime()),
        provider: input.provider,
        issuer: chosen,
        secretHash: scimBearerHash(token),
        startsWith: scimBearerPrefix(token),
        keyEpoch: await readKeyEpoch(tx),
        createdBy: userId,
        createdByName: member.userName,
        createdAt: now,
        fullUntil: now,
      })
      .returning()
    await audit('scim.created', `${input.provider}: ${chosen}`)
    return { ...presentBearer(row!, now), base_url: baseUrl(issuer), token }
  },
)

function issuerFor(
  { providers }: ScimDeps,
  { provider: name, tenant }: { readonly provider: string; readonly tenant?: string | undefined },
): string {
  const provider = providers.find((one) => one.name === name)
  if (!provider) {
    throw new ServiceError('INVALID_REQUEST', 'This installation has no sign-in provider of that name', {
      problems: [`provider: one of ${providers.map((one) => one.name).join(', ') || 'none'}`],
    })
  }
  const issuer = provider.issuerOf(tenant)
  if (issuer !== undefined) return bareIssuer(issuer)
  throw new ServiceError('INVALID_REQUEST', undefined, {
    problems: [
      tenant === undefined
        ? 'tenant: name the tenant of your directory'
        : 'tenant: this sign-in provider does not admit it',
    ],
  })
}
