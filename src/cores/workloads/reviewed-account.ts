/** Which service account a TokenReview vouches for: every rule of decisions, 15, over the answer of the cluster. */
import type { ReviewStatus } from './cluster-port.ts'

export type ReviewedAccount = {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** Null for a token that was not made for a pod. */
  readonly pod: { readonly name: string; readonly uid: string } | null
}

const USERNAME = /^system:serviceaccount:([a-z0-9-]{1,63}):([a-z0-9.-]{1,253})$/
const POD_NAME = /^[a-z0-9.-]{1,253}$/
const POD_UID = /^[\w-]{1,64}$/
const POD = 'authentication.kubernetes.io/pod'

/** Undefined when it is refused. */
export function reviewedAccount(status: ReviewStatus, audience: string): ReviewedAccount | undefined {
  if (!status.authenticated) return undefined
  // An authenticator that knows nothing of audiences confirms none: then the token may be for anybody.
  if (!status.audiences.includes(audience)) return undefined
  const [, namespace, name] = USERNAME.exec(status.username) ?? []
  if (namespace === undefined || name === undefined || status.uid === '') return undefined
  // A user of that name who came in by a certificate or a proxy is not in the group.
  if (!status.groups.includes(`system:serviceaccounts:${namespace}`)) return undefined
  const [podName = '', podUid = ''] = [status.extra[`${POD}-name`]?.[0], status.extra[`${POD}-uid`]?.[0]]
  // For people to see: what cannot be shown or stored refuses no call.
  const pod = POD_NAME.test(podName) && POD_UID.test(podUid) ? { name: podName, uid: podUid } : null
  return { namespace, name, uid: status.uid, pod }
}
