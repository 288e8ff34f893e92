/**
 * Uses an assertion: the row that says so, its grant, and the audit row of a new grant. One statement, so all of it or
 * none; what it was decided by is locked in it, so that a removal either comes first and nothing is made, or waits and
 * then ends what was made.
 */
import { eq, is, PgTransaction, sql } from '../../../../db/drizzle.ts'
import {
  assertionUses,
  auditLog,
  identityLinks,
  identityProviderClients,
  memberships,
  organizationIdentityProviders,
  platformAccessGrants,
} from '../../../../db/schema.ts'
import type { Handle } from '../../../../db/connect.ts'
import type { ClientKind } from '../../../contracts/grants.ts'
import { makeId } from '../../../contracts/ids.ts'
import { SCOPE_EDITION, type Resource, type Scope } from '../../../contracts/scopes.ts'
import { preparedQuery } from '../../prepared-query.ts'
import { retried } from '../../transaction.ts'

export type Use = {
  /** The keyed hash of issuer, tenant and jti. */
  readonly id: string
  readonly now: Date
  /** As long as the assertion is accepted. */
  readonly expiresAt: Date
  readonly provider: { readonly id: string; readonly orgId: string; readonly edition: number }
  readonly linkId: string
  readonly user: { readonly id: string; readonly name: string }
  readonly client: {
    readonly id: string
    readonly kind: ClientKind
    readonly name: string | null
    readonly documentSha256: string | null
  }
  /** Of the provider, which vouches for it: it has no redirect. */
  readonly host: string
  /** The one it is expected to renew, or a new id. */
  readonly grantId: string
  /** Of the grant in its place, where it is given more data sources: tokens of the old one stay with fewer. */
  readonly successorId: string
  readonly grantExpiresAt: Date
  readonly resource: { readonly name: Resource; readonly url: string }
  readonly scopes: readonly Scope[]
  readonly sources: readonly string[] | null
  readonly keyEpoch: string
  readonly audit: { readonly subject: string; readonly requestId: string }
}

/** `void`: what it was decided by has changed. `used`: somebody used it before. */
export async function useAssertion(db: Handle, use: Use): Promise<{ grantId: string } | 'void' | 'used'> {
  const { provider, user, client, resource } = use
  // A change that takes the same rows in another order makes the database end one of the two: this one can run again.
  const run = () =>
    useQuery(db).execute({
      useId: use.id,
      now: use.now.toISOString(),
      expiresAt: use.expiresAt.toISOString(),
      providerId: provider.id,
      orgId: provider.orgId,
      edition: provider.edition,
      linkId: use.linkId,
      userId: user.id,
      userName: user.name,
      clientId: client.id,
      clientKind: client.kind,
      clientName: client.name,
      documentSha256: client.documentSha256,
      host: use.host,
      grantId: use.grantId,
      successorId: use.successorId,
      grantExpiresAt: use.grantExpiresAt.toISOString(),
      resource: resource.name,
      scopes: JSON.stringify(use.scopes),
      sources: use.sources && JSON.stringify(use.sources),
      payload: JSON.stringify({
        accountId: user.id,
        clientId: client.id,
        resources: { [resource.url]: use.scopes.join(' ') },
      }),
      keyEpoch: use.keyEpoch,
      auditId: makeId('aud', use.now.getTime()),
      auditSubject: use.audit.subject,
      requestId: use.audit.requestId,
    })
  // In a transaction it is that which runs again.
  const [row] = is(db, PgTransaction) ? await run() : await retried(run)
  if (!row?.isCurrent) return 'void'
  if (row.grantId === null) return 'used'
  if (row.grantId !== use.grantId) await correctUse(db, use.id, row.grantId)
  return { grantId: row.grantId }
}

/** Two assertions at once made the same grant, or another one took its place: the use names the grant that is there. */
async function correctUse(db: Handle, id: string, grantId: string): Promise<void> {
  await db.update(assertionUses).set({ grantId }).where(eq(assertionUses.id, id))
}

const value = (name: string, type = 'text') => sql`${sql.placeholder(name)}::${sql.raw(type)}`
/** None is none, and null stays null: for data sources that means all. */
const texts = (name: string) => sql`case when ${value(name)} is not null
  then array(select json_array_elements_text(${value(name, 'json')})) end`
const now = value('now', 'timestamptz')

const useQuery = preparedQuery((db) => {
  const ground = db.$with('ground', { id: identityLinks.id }).as(sql`
    select ${identityLinks.id}
    from ${organizationIdentityProviders}, ${identityProviderClients}, ${identityLinks}, ${memberships}
    where ${organizationIdentityProviders.id} = ${value('providerId')}
      and ${organizationIdentityProviders.state} = 'on'
      and ${organizationIdentityProviders.edition} = ${value('edition', 'int')}
      and ${identityProviderClients.providerId} = ${value('providerId')}
      and ${identityProviderClients.clientId} = ${value('clientId')}
      and ${identityLinks.id} = ${value('linkId')} and ${identityLinks.userId} = ${value('userId')}
      and ${memberships.orgId} = ${value('orgId')} and ${memberships.userId} = ${value('userId')}
    for share`)
  const used = db.$with('used', { grantId: assertionUses.grantId }).as(sql`
    insert into ${assertionUses} (id, provider_id, client_id, grant_id, used_at, expires_at)
    select ${value('useId')}, ${value('providerId')}, ${value('clientId')}, ${value('grantId')}, ${now},
      ${value('expiresAt', 'timestamptz')}
    from ${ground}
    on conflict (id) do nothing
    returning grant_id`)
  const grants = platformAccessGrants
  const ended = db.$with('ended', { id: grants.id }).as(sql`
    update ${grants} set revoked_at = ${now}, revoked_reason = 'replaced'
    where identity_provider_id = ${value('providerId')} and user_id = ${value('userId')}
      and client_id = ${value('clientId')} and resource = ${value('resource')} and revoked_at is null
      and sources is not null and not coalesce(${texts('sources')} <@ sources, false)
      and exists (select from ${used})
    returning id`)
  const granted = db.$with('granted', {
    id: platformAccessGrants.id,
    isNew: sql<boolean>`is_new`.as('is_new'),
  }).as(sql`
    insert into ${platformAccessGrants} (id, org_id, user_id, client_id, client_kind, client_name, redirect_host,
      document_sha256, resource, scopes, scope_edition, sources, via, identity_provider_id, payload, key_epoch,
      created_at, expires_at)
    select case when exists (select from ${ended})
        or exists (select from ${grants} g where g.id = grant_id and g.revoked_at is not null)
      then ${value('successorId')} else grant_id end,
      ${value('orgId')}, ${value('userId')}, ${value('clientId')}, ${value('clientKind')},
      ${value('clientName')}, ${value('host')}, ${value('documentSha256')}, ${value('resource')}, ${texts('scopes')},
      ${sql.raw(String(SCOPE_EDITION))}, ${texts('sources')}, 'enterprise', ${value('providerId')},
      ${value('payload')}::jsonb, ${value('keyEpoch')}, ${now}, ${value('grantExpiresAt', 'timestamptz')}
    from ${used}
    on conflict (identity_provider_id, user_id, client_id, resource)
      where identity_provider_id is not null and revoked_at is null
    do update set client_name = excluded.client_name, document_sha256 = excluded.document_sha256,
      scopes = excluded.scopes, scope_edition = excluded.scope_edition,
      -- Of two at once, what both have.
      sources = case when ${grants}.sources is null or excluded.sources <@ ${grants}.sources then excluded.sources
        else array(select unnest(${grants}.sources) intersect
          select unnest(coalesce(excluded.sources, ${grants}.sources))) end,
      payload = excluded.payload, expires_at = excluded.expires_at
    returning id, xmax = 0 as is_new`)
  const recorded = db.$with('recorded', { id: auditLog.id }).as(sql`
    insert into ${auditLog} (org_id, id, at, action, actor_kind, actor_id, actor_name, subject, request_id)
    select ${value('orgId')}, ${value('auditId')}, ${now}, 'grant.created', 'user', ${value('userId')},
      ${value('userName')}, ${value('auditSubject')}, ${value('requestId')}
    from ${granted} where is_new
    returning id`)
  return db
    .with(ground, used, ended, granted, recorded)
    .select({
      isCurrent: sql<boolean>`exists (select from ${ground})`,
      grantId: sql<string | null>`(select id from ${granted})`,
    })
    .from(sql`(values (1)) as one`)
    .prepare('use_assertion')
})
