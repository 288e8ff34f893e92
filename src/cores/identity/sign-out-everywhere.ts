import { write, type Verb } from '../verb.ts'
import { endSessions } from './end-sessions.ts'

export const signOutEverywhere: Verb<'signOutEverywhere'> = write(
  { by: 'person', audit: 'session.all_ended' },
  async ({ tx, clock, userId, principal, audit }) => {
    const ended = await endSessions(tx, clock, userId)
    if (principal.orgId !== null) await audit('session.all_ended')
    return { ended }
  },
)
