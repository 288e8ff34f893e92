/** How a question to the cluster can fail; `reason` is for the operator: the log, `/readyz` and the operator's page. */

/** It cannot be reached, does not know us, or what it answered cannot be read. The same question may succeed later. */
export class ClusterUnavailable extends Error {
  override readonly name = 'ClusterUnavailable'
  readonly reason: string

  constructor(reason: string, cause?: unknown) {
    super('The cluster cannot be asked now', { cause })
    this.reason = reason
  }
}

/** The service account of the auth-service may not ask that: its role is missing. */
export class ClusterForbidden extends Error {
  override readonly name = 'ClusterForbidden'
  readonly reason: string

  constructor(reason: string) {
    super('The cluster does not let the auth-service ask')
    this.reason = reason
  }
}
