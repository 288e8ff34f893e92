/**
 * A service account that the organization may bind: in a namespace that the operator gave it, and annotated with its id by
 * whoever may write there. Either alone is not enough: the operator does not know who runs what, and whoever may write in
 * a namespace could name any organization.
 */
import { ClusterForbidden, ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { SERVICE_ACCOUNT_READS } from '../../contracts/limits.ts'
import { throttle } from '../throttle.ts'
import { read, type Verb } from '../verb.ts'
import { workloadIdentityIsOff } from './workload-identity-is-off.ts'
import { mayUse, type WithWorkloads } from './workloads.ts'

/** On the service account, with the id of the organization. */
const ORGANIZATION_ANNOTATION = 'svc.dev/org'

export const showServiceAccount: Verb<'showServiceAccount', WithWorkloads> = read(
  async ({ db, clock, orgId, workloads }, { namespace, service_account: name }) => {
    if (!workloads) throw workloadIdentityIsOff()
    // A namespace of somebody else looks like one that does not exist, and the cluster is not asked about it.
    if (!mayUse(workloads, orgId, namespace)) throw unknownAccount()
    await throttle({ db, clock }, `service-accounts:${orgId}`, SERVICE_ACCOUNT_READS)
    const account = await workloads.findServiceAccount(orgId, namespace, name).catch((error: unknown) => {
      if (error instanceof ClusterForbidden) throw mayNotAsk(error)
      throw error instanceof ClusterUnavailable ? cannotAsk(error) : error
    })
    if (!account) throw unknownAccount()
    if (account.annotations[ORGANIZATION_ANNOTATION] !== orgId) {
      throw new ServiceError('CONFLICT', 'The service account does not name this organization', {
        hint: `Run kubectl annotate serviceaccount ${name} -n ${namespace} ${ORGANIZATION_ANNOTATION}=${orgId}`,
      })
    }
    return { namespace, service_account: name, uid: account.uid }
  },
)

const unknownAccount = () =>
  new ServiceError('NOT_FOUND', 'There is no such service account in a namespace of this organization', {
    hint: 'Whoever runs svc gives namespaces to organizations with WORKLOAD_NAMESPACES.',
  })

/** Not as for tokens: whoever binds has shown none. */
const cannotAsk = ({ reason }: ClusterUnavailable) =>
  new ServiceError('CLUSTER_UNAVAILABLE', 'The cluster cannot be asked about service accounts now', {
    hint: 'Try again in a few seconds.',
    retryAfterSeconds: 5,
    cause: reason,
  })

const mayNotAsk = ({ reason }: ClusterForbidden) =>
  new ServiceError('CLUSTER_UNAVAILABLE', 'The auth-service may not read service accounts of the cluster', {
    hint: 'Whoever runs svc sets auth-service.rbac.create=true in the chart.',
    cause: reason,
  })
