import { notFound } from '../../contracts/errors.ts'
import { write, type Verb } from '../verb.ts'
import { endGrant } from './end-grant.ts'
import { findManageableGrant } from './find-manageable-grant.ts'
import type { LivenessDeps } from './live-grant.ts'

export const revokeGrant: Verb<'revokeGrant', LivenessDeps> = write(
  { audit: 'grant.revoked' },
  async ({ tx, clock, member, userId }, { grant_id }) => {
    const found = await findManageableGrant(tx, member, grant_id)
    const reason = found.userId === userId ? 'disconnected' : 'revoked'
    if (!(await endGrant(tx, clock, member, found.id, reason))) throw notFound()
    return {}
  },
)
