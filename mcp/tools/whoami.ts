/** The tool `whoami`: for whom, where and with which rights the agent acts, what is left to ask, and what it does not see. */
import * as z from 'zod'
import { showQuota } from '../../src/contracts/data-sources.ts'
import { tool } from '../tool.ts'

export const whoami = tool({
  name: 'whoami',
  resource: 'platform',
  title: 'Who am I',
  description:
    'Your user, organization, role and granted scopes, the questions left, and which tools are hidden and why.',
  operations: [showQuota],
  input: z.strictObject({}),
  async run(_nothing, { call, entrant, narrowing, hidden }) {
    const { user, organization, role, scopes, clientId } = entrant
    return {
      user,
      organization,
      role,
      scopes,
      client: clientId ?? null,
      quota: await call(showQuota, {}),
      hidden,
      ...(narrowing.sources && { only_sources: [...narrowing.sources] }),
    }
  },
})
