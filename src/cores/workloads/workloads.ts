/** Workload identity as the auth-service has it, and what its verbs share. */
import { ClusterUnavailable } from '../../contracts/cluster-errors.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { TokenReviews } from './token-reviews.ts'

export type Workloads = TokenReviews & {
  /** decisions, 15: which namespaces the operator gave to which organization. */
  readonly namespaces: ReadonlyMap<string, readonly string[]>
}

export type WithWorkloads = {
  /** Undefined where workload identity is off, or there is no cluster. */
  readonly workloads: Workloads | undefined
}

/** Asked again at every call: a namespace that the operator took back opens nothing any more. */
export const mayUse = ({ namespaces }: Workloads, orgId: string, namespace: string): boolean =>
  namespaces.get(orgId)?.includes(namespace) === true

/** In a namespace of somebody: a role may be limited to those. */
export const checkPermission = (workloads: Workloads): void =>
  workloads.checkPermission([...workloads.namespaces.values()].flat()[0])

/** Neither accepted nor refused: a worker that was told "invalid" might give up. */
export const asServiceError = (error: unknown): unknown =>
  error instanceof ClusterUnavailable
    ? new ServiceError('CLUSTER_UNAVAILABLE', undefined, { retryAfterSeconds: 5, cause: error.reason })
    : error
