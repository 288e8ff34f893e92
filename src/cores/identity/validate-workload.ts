/**
 * Whose service-account token this is. Cheap questions come first: a token that has expired, or names no binding of ours,
 * never reaches the cluster. Others of the kind that it refuses reach it a few times a minute.
 */
import { and, eq, sql } from '../../../db/drizzle.ts'
import { organizations, workloadBindings } from '../../../db/schema.ts'
import { ClusterForbidden } from '../../contracts/cluster-errors.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { REFUSED_WORKLOAD_TOKENS } from '../../contracts/limits.ts'
import type { Audience } from '../../contracts/scopes.ts'
import type { WorkloadValidation } from '../../contracts/tokens.ts'
import { readServiceAccountToken } from '../../trust/service-account-token.ts'
import type { Storage } from '../dependencies.ts'
import { preparedQuery } from '../prepared-query.ts'
import { networkOf } from '../../contracts/network-of.ts'
import { refundThrottle, throttle } from '../throttle.ts'
import {
  asServiceError,
  mayUse,
  noteUse,
  type Allowance,
  type Review,
  type WithWorkloads,
  type Workloads,
} from '../workloads/index.ts'
import { countWorkloadCall } from './count-workload-call.ts'

type Presented = {
  readonly token: string
  /** Id or slug of the organization that the request names. */
  readonly organization?: string | undefined
  readonly audience?: Audience | undefined
  /** Of whoever shows it. */
  readonly address: string
}

const refused = (cause?: unknown) => new ServiceError('UNAUTHENTICATED', undefined, { cause })

export async function validateWorkload(
  deps: Storage & WithWorkloads,
  { token, organization: requested, audience, address }: Presented,
): Promise<WorkloadValidation> {
  const { db, clock, workloads } = deps
  const claims = readServiceAccountToken(token)
  // For the API alone, as a person's own token.
  if (!workloads || !claims || (audience ?? 'api') !== 'api') throw refused()
  if (!claims.audiences.includes(workloads.audience)) throw refused()
  const { namespace, name, uid } = claims
  const [found] = await bindingOf(db).execute({ namespace, name, uid })
  if (!found || !mayUse(workloads, found.binding.orgId, namespace)) throw refused()
  const { binding, organization } = found
  const { account, isFresh } = await reviewOrRefuse(workloads, token, {
    orgId: binding.orgId,
    expiresAt: claims.expiresAt,
    newcomers: refusalsOf({ db, clock }, binding.id, address),
  })
  // What the cluster vouches for, and not what the token says of itself.
  if (
    !account ||
    account.namespace !== binding.namespace ||
    account.name !== binding.serviceAccount ||
    account.uid !== binding.uid
  ) {
    throw refused()
  }
  await countWorkloadCall({ db, clock }, binding.id)
  if (isFresh) await noteUse({ db, clock }, binding, account.pod)
  const isOwn = requested === undefined || requested === organization.id || requested === organization.slug
  return {
    valid: true,
    kind: 'workload',
    user: null,
    // Any organization but its own does not exist for it.
    organization: isOwn ? organization : null,
    role: null,
    scopes: ['apps:report'],
    audiences: ['api'],
    expires_at: claims.expiresAt.toISOString(),
    deployment: binding.appAlias,
    workload: {
      binding_id: binding.id,
      app_id: binding.appId,
      namespace: binding.namespace,
      service_account: binding.serviceAccount,
      pod: account.pod?.name ?? null,
    },
  }
}

const bindingOf = preparedQuery((db) =>
  db
    .select({
      binding: workloadBindings,
      organization: { id: organizations.id, name: organizations.name, slug: organizations.slug },
    })
    .from(workloadBindings)
    .innerJoin(organizations, eq(organizations.id, workloadBindings.orgId))
    .where(
      and(
        eq(workloadBindings.namespace, sql.placeholder('namespace')),
        eq(workloadBindings.serviceAccount, sql.placeholder('name')),
        eq(workloadBindings.uid, sql.placeholder('uid')),
      ),
    )
    .prepare('workload_binding'),
)

/** By network: whoever guesses locks out nobody but those who come for the first time from where they are. */
function refusalsOf(deps: Storage, bindingId: string, address: string): Allowance {
  const key = `workload-refused:${bindingId}:${networkOf(address)}`
  return {
    take: () => throttle(deps, key, REFUSED_WORKLOAD_TOKENS),
    giveBack: () => refundThrottle(deps, key, REFUSED_WORKLOAD_TOKENS),
  }
}

async function reviewOrRefuse(
  workloads: Workloads,
  token: string,
  about: { orgId: string; expiresAt: Date; newcomers: Allowance },
): Promise<Review> {
  try {
    return await workloads.review(token, about)
  } catch (error) {
    // contract, Authentication 9: without the role the answer is that of an invalid token. The operator is told why.
    if (error instanceof ClusterForbidden) throw refused(error.reason)
    throw asServiceError(error)
  }
}
