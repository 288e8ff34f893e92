/** The way out to an address that the operator set and no user can steer: anywhere, and told apart just as exactly. */
import { lookup } from 'node:dns/promises'
import { outbound, type GuardedPost } from './guarded-post.ts'

export const toOperatorAddress = (): GuardedPost =>
  outbound({
    allowNets: ['0.0.0.0/0', '::/0'],
    // As the machine itself resolves names: such a service may stand in a hosts file.
    resolve: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  }).post
