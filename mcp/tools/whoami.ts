/** The tool `whoami`: user, organization, rights and remaining quota, and the tools that are hidden. */
import * as z from 'zod'
import { showQuota } from '../../src/contracts/data-sources.ts'
import { tool } from '../tool.ts'

export const whoami = tool({
  name: 'whoami',
  resource: 'platform',
  title: 'Who am I',
  description:
    'Show your user, organization, role, scopes and remaining quota, and which tools are hidden and why.',
  operations: [showQuota],
  input: z.strictObject({}),
  async run(_nothing, { call, principal, narrowing, hidden }) {
    const { user, machineAgent, organization, role, scopes, clientId } = principal
    return {
      user,
      ...(machineAgent && { machine_agent: machineAgent }),
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
