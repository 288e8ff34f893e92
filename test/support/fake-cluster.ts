/** A cluster in memory, for walks that bind service accounts and ask nothing of it: every account names its organization. */
import type { Cluster } from '../../src/cores/workloads/index.ts'

export function fakeCluster() {
  const accounts = new Map<string, { uid: string; annotations: Record<string, string> }>()
  const workloadNamespaces = new Map<string, string[]>()
  const cluster: Cluster = {
    address: 'https://cluster.test',
    reviewToken: () => Promise.reject(new Error('nobody asks this cluster about a token')),
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
  }
}
