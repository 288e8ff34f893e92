/** What the auth-service asks of its cluster. Throws ClusterUnavailable or ClusterForbidden. */

/** The status of a TokenReview, as the API server answers it. */
export type ReviewStatus = {
  readonly authenticated: boolean
  readonly username: string
  readonly uid: string
  readonly groups: readonly string[]
  readonly audiences: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

export type ServiceAccount = {
  readonly uid: string
  readonly annotations: Readonly<Record<string, string>>
}

export type Cluster = {
  /** For the operator's page. */
  readonly address: string
  reviewToken(token: string, audience: string): Promise<ReviewStatus>
  findServiceAccount(namespace: string, name: string): Promise<ServiceAccount | undefined>
}
