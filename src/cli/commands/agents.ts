/** `svc agents on` and `svc agents off`: the switch for all assistants. */
import type { CommandContext } from '../command-context.ts'
import type { Run } from '../command.ts'
import { confirm } from '../prompt.ts'
import { usageError } from '../usage-error.ts'

export const switchAgentsOff: Run = async (ctx, input) => {
  await confirm(ctx, input, 'This turns off access for all assistants until you run `svc agents on`.')
  await switchAgents(ctx, false)
}

export const switchAgentsOn: Run = (ctx) => switchAgents(ctx, true)

async function switchAgents(ctx: CommandContext, enabled: boolean): Promise<void> {
  const { organization } = await ctx.callOperation('whoAmI', {})
  if (!organization) throw usageError('You are not a member of an organization', 'Ask an owner to invite you')
  const change = { org_id: organization.id, agents_enabled: enabled }
  const updated = await ctx.callOperation('updateOrganization', change)
  const fields = { organization: updated.name, assistants: updated.agents_enabled ? 'on' : 'off' }
  ctx.print(updated, { fields })
}
