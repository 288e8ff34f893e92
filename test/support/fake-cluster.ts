/** A cluster in memory, for walks that bind service accounts: every account names its organization. */
import type { Cluster } from '../../src/cores/workloads/index.ts'

type Account = { readonly namespace: string; readonly service_account: string }

export function fakeCluster() {
  const accounts = new Map<string, { uid: string; annotations: Record<string, string> }>()
  const workloadNamespaces = new Map<string, string[]>()
  const minted = new Map<string, Awaited<ReturnType<Cluster['reviewToken']>>>()
  const unknown = { authenticated: false, username: '', uid: '', groups: [], audiences: [], extra: {} }
  const cluster: Cluster = {
    address: 'https://cluster.test',
    reviewToken: async (token) => minted.get(token) ?? unknown,
    findServiceAccount: async (namespace, name) => accounts.get(`${namespace}/${name}`),
  }
  return {
    /** For `startSystem`. */
    overrides: { cluster, workloadNamespaces },
    /** An account that the organization may bind, in a namespace of its own. */
    addAccount(orgId: string, service_account: string) {
      const namespace = `ns-${orgId.slice(-20)}`
      workloadNamespaces.set(orgId, [namespace])
      accounts.set(`${namespace}/${service_account}`, {
        uid: `uid-of-${service_account}`,
        annotations: { 'svc.dev/org': orgId },
      })
      return { namespace, service_account }
    },
    /** A token of the account, which the cluster vouches for unless `isGenuine` says no. */
    mint(
      { namespace, service_account: name }: Account,
      expiresAt: Date,
      { audience = 'svc-control-plane', uid = `uid-of-${name}`, isGenuine = true } = {},
    ): string {
      const username = `system:serviceaccount:${namespace}:${name}`
      const claims = {
        sub: username,
        aud: [audience],
        exp: Math.floor(expiresAt.getTime() / 1000),
        jti: minted.size,
        'kubernetes.io': { namespace, serviceaccount: { name, uid } },
      }
      const parts = [{ alg: 'ES256' }, claims, isGenuine].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      )
      const token = parts.join('.')
      const groups = [`system:serviceaccounts:${namespace}`]
      const real = accounts.get(`${namespace}/${name}`)?.uid ?? ''
      const answer = { authenticated: true, username, uid: real, groups, audiences: [audience], extra: {} }
      minted.set(token, isGenuine ? answer : unknown)
      return token
    },
  }
}
