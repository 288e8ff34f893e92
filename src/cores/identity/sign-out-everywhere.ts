import { endByCause } from '../credentials/index.ts'
import { write, type Verb } from '../verb.ts'

export const signOutEverywhere: Verb<'signOutEverywhere'> = write(
  { by: 'person', audit: 'session.all_ended' },
  async ({ tx, clock, userId, principal, audit }) => {
    const { sessions } = await endByCause(tx, clock, { cause: 'signed_out', userId })
    if (principal.orgId !== null) await audit('session.all_ended')
    return { ended: sessions.length }
  },
)
